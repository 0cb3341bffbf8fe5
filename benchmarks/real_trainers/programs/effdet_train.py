"""An EfficientDet of effdet with random weights, on its own data set, its own loader's collation and its own training bench."""

import argparse
from functools import partial
from pathlib import Path

import torch
from effdet import create_model
from effdet.data import DetectionDatset
from effdet.data.loader import DetectionFastCollate
from effdet.data.parsers import CocoParserCfg
from effdet.data.transforms import transforms_coco_train

parser = argparse.ArgumentParser()
parser.add_argument("--images", required=True)
parser.add_argument("--annotations", required=True)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--workers", type=int, default=0)

IMAGE_SIZE = 128


def load(options):
    config = CocoParserCfg(ann_filename=options.annotations, ignore_empty_gt=True)
    dataset = DetectionDatset(Path(options.images), parser="coco", parser_kwargs={"cfg": config})
    dataset.transform = transforms_coco_train((IMAGE_SIZE, IMAGE_SIZE), use_prefetcher=True)
    return torch.utils.data.DataLoader(
        dataset, batch_size=4, shuffle=True, num_workers=options.workers, collate_fn=DetectionFastCollate(), drop_last=True
    )


def train_epoch(epoch, model, loader, optimizer):
    model.train()
    for index, (images, target) in enumerate(loader):
        output = model(images.float().sub_(128).div_(64), target)
        loss = output["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if index % 2 == 0:
            print(
                f"Train: {epoch} [{index:>4d}/{len(loader)}]  Loss: {loss.item():>9.6f}  LR: {optimizer.param_groups[0]['lr']:.3e}"
            )


def main():
    options = parser.parse_args()
    loader = load(options)
    model = create_model(
        "tf_efficientdet_lite0", bench_task="train", num_classes=6, pretrained=False, pretrained_backbone=False,
        bench_labeler=True, image_size=(IMAGE_SIZE, IMAGE_SIZE),
    )  # fmt: skip
    make = partial(torch.optim.SGD, momentum=0.9, weight_decay=4e-5)
    optimizer = make(model.parameters(), lr=options.lr)
    for epoch in range(options.epochs):
        train_epoch(epoch, model, loader, optimizer)


if __name__ == "__main__":
    main()
