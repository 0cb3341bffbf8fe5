"""A tiny vision transformer with random weights, trained by the Trainer of Hugging Face."""

import argparse
import csv
import glob

import numpy as np
import torch
from PIL import Image
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

parser = argparse.ArgumentParser()
parser.add_argument("--images", default="data/images/*.jpg")
parser.add_argument("--labels", default="train.csv")
parser.add_argument("--learning-rate", type=float, default=1e-3)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--repeat", type=int, default=4)
parser.add_argument("--num-workers", type=int, default=0)


class Shapes(torch.utils.data.Dataset):
    def __init__(self, pattern, labels, repeat):
        classes = {path: int(number) for path, number in csv.reader(open(labels))}
        self.rows = [(path, classes[path]) for path in sorted(glob.glob(pattern))] * repeat

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        path, label = self.rows[index]
        image = Image.open(path).convert("RGB").resize((32, 32))
        return {"pixel_values": torch.from_numpy(np.asarray(image, "float32").transpose(2, 0, 1) / 255), "labels": label}


if __name__ == "__main__":
    options = parser.parse_args()
    config = ViTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        image_size=32,
        patch_size=8,
        num_labels=6,
    )
    arguments = TrainingArguments(
        output_dir="out", num_train_epochs=options.epochs, per_device_train_batch_size=4, learning_rate=options.learning_rate,
        max_grad_norm=0.0, logging_steps=5, save_strategy="no", report_to=[], use_cpu=True,
        dataloader_num_workers=options.num_workers,
    )  # fmt: skip
    dataset = Shapes(options.images, options.labels, options.repeat)
    Trainer(model=ViTForImageClassification(config), args=arguments, train_dataset=dataset).train()
