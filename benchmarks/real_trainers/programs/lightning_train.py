"""A classifier of crops of shapes, trained by Lightning."""

import argparse
import csv
import glob

import lightning
import numpy as np
import torch
from PIL import Image

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
        return torch.from_numpy(np.asarray(image, "float32").transpose(2, 0, 1) / 255), label


class Classifier(lightning.LightningModule):
    def __init__(self, learning_rate):
        super().__init__()
        self.learning_rate = learning_rate
        self.network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, 2), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 6),
        )  # fmt: skip

    def training_step(self, batch, index):
        images, labels = batch
        loss = torch.nn.functional.cross_entropy(self.network(images), labels)
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), self.learning_rate, momentum=0.9)


if __name__ == "__main__":
    options = parser.parse_args()
    dataset = Shapes(options.images, options.labels, options.repeat)
    loader = torch.utils.data.DataLoader(dataset, batch_size=4, shuffle=True, num_workers=options.num_workers)
    trainer = lightning.Trainer(
        max_epochs=options.epochs, accelerator="cpu", logger=False, enable_checkpointing=False, log_every_n_steps=1
    )
    trainer.fit(Classifier(options.learning_rate), loader)
