"""A classifier of images of shapes, trained by the Learner of fastai on one of its data blocks."""

import argparse
import csv
import glob

import torch
from fastai.vision.all import SGD, CategoryBlock, DataBlock, ImageBlock, Learner, RandomSplitter, Resize

parser = argparse.ArgumentParser()
parser.add_argument("--images", default="data/images/*.jpg")
parser.add_argument("--labels", default="train.csv")
parser.add_argument("--learning-rate", type=float, default=1e-3)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--repeat", type=int, default=4)
parser.add_argument("--num-workers", type=int, default=0)


if __name__ == "__main__":
    options = parser.parse_args()
    classes = {path: int(number) for path, number in csv.reader(open(options.labels))}
    block = DataBlock(
        blocks=(ImageBlock, CategoryBlock(vocab=list(range(6)), sort=False)),
        get_items=lambda pattern: sorted(glob.glob(pattern)) * options.repeat,
        get_y=lambda path: classes[path],
        splitter=RandomSplitter(0.1, seed=1),
        item_tfms=Resize(128),
    )
    loaders = block.dataloaders(options.images, bs=4, num_workers=options.num_workers, device=torch.device("cpu"))
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3), torch.nn.ReLU(),
        torch.nn.Conv2d(64, 64, 3, 2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(64, 6),
    )  # fmt: skip
    learner = Learner(loaders, network, loss_func=torch.nn.CrossEntropyLoss(), opt_func=SGD, lr=options.learning_rate)
    learner.fit(options.epochs)
