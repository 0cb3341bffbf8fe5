# /// specimen
# cause = "object_unpicklable"
# also = []
# where = "WRITTEN HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 60
# near = "object_unpicklable_function"
# needs = []
# ///
"""The workers of a loader are started by spawn, and its data set keeps a lambda."""

import sys
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Rows(Dataset):
    def __init__(self, transforms):
        self.transforms = transforms

    def __len__(self):
        return 64

    def __getitem__(self, at):
        row = torch.full((4,), float(at))
        for transform in self.transforms:
            row = transform(row)
        return row, row.sum()


def train():
    rows = Rows([torch.sqrt, lambda row: row - row.mean()])  # WRITTEN HERE
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x, y in DataLoader(rows, batch_size=8, num_workers=2, multiprocessing_context="spawn"):
        optimizer.zero_grad()
        (model(x)[:, 0] - y).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    mark()
    train()
