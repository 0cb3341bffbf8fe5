#!/usr/bin/env python
import logging
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader

from dataset import CropDataset, write_sample

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("crops")

CONFIG = dict(epochs=3, batch_size=10, lr=3e-4, weight_decay=1e-2, workers=2)


def build_model(num_classes):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, num_classes),
    )


class Trainer:
    def __init__(self, model, loader, cfg):
        self.model, self.loader, self.cfg = model, loader, cfg
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def step(self, batch):
        images, labels = batch
        loss = self.criterion(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.item()

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            losses = [self.step(batch) for batch in self.loader]
            log.info("epoch %d mean loss %.4f", epoch, sum(losses) / len(losses))


def main():
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as root:
        write_sample(root)
        data = CropDataset(root)
        log.info("%d crops, %d classes: %s", len(data), len(data.names), ", ".join(data.names))
        loader = DataLoader(data, batch_size=CONFIG["batch_size"], shuffle=True, num_workers=CONFIG["workers"])
        Trainer(build_model(len(data.names)), loader, CONFIG).fit()


if __name__ == "__main__":
    main()
