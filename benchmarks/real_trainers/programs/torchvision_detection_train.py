"""SSDlite with random weights, trained as the reference scripts of torchvision do it."""

import argparse
import datetime
import json
import math
import os
import sys
import time
from collections import defaultdict, deque

import torch
import torchvision
from PIL import Image
from torchvision.transforms import functional

parser = argparse.ArgumentParser()
parser.add_argument("--images", required=True)
parser.add_argument("--annotations", required=True)
parser.add_argument("--lr", type=float, default=0.002)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--print-freq", type=int, default=2)


class CocoDetection(torch.utils.data.Dataset):
    def __init__(self, images, annotations):
        with open(annotations) as file:
            plain = json.load(file)
        self.folder, self.rows, self.boxes = images, plain["images"], defaultdict(list)
        for row in plain["annotations"]:
            self.boxes[row["image_id"]].append(row)
        self.rows = [row for row in self.rows if self.boxes[row["id"]]]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        path = os.path.join(self.folder, os.path.basename(row["file_name"]))
        image = Image.open(path).convert("RGB").resize((160, 160))
        boxes = torch.tensor([found["bbox"] for found in self.boxes[row["id"]]], dtype=torch.float32)
        boxes[:, 2:] += boxes[:, :2]
        labels = torch.tensor([found["category_id"] for found in self.boxes[row["id"]]])
        return functional.to_tensor(image), {"boxes": boxes, "labels": labels, "image_id": row["id"]}


class SmoothedValue:
    def __init__(self):
        self.recent, self.total, self.count = deque(maxlen=20), 0.0, 0

    def update(self, value):
        self.recent.append(value)
        self.total, self.count = self.total + value, self.count + 1

    def __str__(self):
        return f"{torch.tensor(list(self.recent)).median().item():.4f} ({self.total / self.count:.4f})"


def collate(batch):
    return tuple(zip(*batch))


def train_one_epoch(model, optimizer, loader, epoch, print_freq):
    model.train()
    meters, header, began = defaultdict(SmoothedValue), f"Epoch: [{epoch}]", time.time()
    end = time.time()
    for step, (images, targets) in enumerate(loader):
        meters["data"].update(time.time() - end)
        targets = [{key: value for key, value in target.items()} for target in targets]
        losses = model(list(images), targets)
        loss = sum(losses.values())
        value = loss.item()
        if not math.isfinite(value):
            print(f"Loss is {value}, stopping training")
            print(losses)
            sys.exit(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, part in {"loss": loss, **losses}.items():
            meters[name].update(part.item())
        meters["time"].update(time.time() - end)
        if step % print_freq == 0 or step == len(loader) - 1:
            eta = datetime.timedelta(seconds=int((time.time() - began) / (step + 1) * (len(loader) - step - 1)))
            rate = optimizer.param_groups[0]["lr"]
            shown = "  ".join(f"{name}: {meter}" for name, meter in meters.items() if name not in ("time", "data"))
            print(f"{header}  [{step:2d}/{len(loader)}]  eta: {eta}  lr: {rate:.6f}  {shown}"
                  f"  time: {meters['time']}  data: {meters['data']}")  # fmt: skip
        end = time.time()
    print(f"{header} Total time: {datetime.timedelta(seconds=int(time.time() - began))}")


def main():
    options = parser.parse_args()
    dataset = CocoDetection(options.images, options.annotations)
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=4, shuffle=True, num_workers=options.workers, collate_fn=collate, drop_last=True
    )
    model = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=7)
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr, momentum=0.9, weight_decay=1e-4)
    print("Start training")
    for epoch in range(options.epochs):
        train_one_epoch(model, optimizer, loader, epoch, options.print_freq)


if __name__ == "__main__":
    main()
