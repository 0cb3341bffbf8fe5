"""A classifier of crops of shapes, trained by the Runner of MMEngine, on which MMDetection is built."""

import argparse
import csv
import glob

import numpy as np
import torch
from mmengine.model import BaseModel
from mmengine.runner import Runner
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


class Classifier(BaseModel):
    def __init__(self):
        super().__init__()
        self.network = torch.nn.Sequential(
            torch.nn.Conv2d(3, 16, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, 2), torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 6),
        )  # fmt: skip

    def forward(self, images, labels, mode):
        scores = self.network(images)
        if mode == "loss":
            return {"loss": torch.nn.functional.cross_entropy(scores, labels)}
        return scores, labels


if __name__ == "__main__":
    options = parser.parse_args()
    dataset = Shapes(options.images, options.labels, options.repeat)
    runner = Runner(
        model=Classifier(),
        work_dir="work",
        train_dataloader=dict(
            dataset=dataset,
            batch_size=4,
            num_workers=options.num_workers,
            sampler=dict(type="DefaultSampler", shuffle=True),
            collate_fn=dict(type="default_collate"),
        ),
        train_cfg=dict(by_epoch=True, max_epochs=options.epochs),
        optim_wrapper=dict(optimizer=dict(type="SGD", lr=options.learning_rate, momentum=0.9)),
        default_hooks=dict(checkpoint=None, logger=dict(type="LoggerHook", interval=4)),
    )
    runner.train()
