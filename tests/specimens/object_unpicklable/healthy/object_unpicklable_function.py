# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "object_unpicklable"
# needs = []
# ///
"""The workers are forked, which pickles nothing: the data set may keep a lambda, a lock and an open file."""

import os
import threading

import torch
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, transforms):
        self.transforms, self.lock, self.log = transforms, threading.Lock(), open(os.devnull, "w")

    def __len__(self):
        return 64

    def __getitem__(self, at):
        with self.lock:
            row = torch.full((4,), float(at))
        for transform in self.transforms:
            row = transform(row)
        return row, row.sum()


def train():
    rows = Rows([torch.sqrt, lambda row: row - row.mean()])
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x, y in DataLoader(rows, batch_size=8, num_workers=2, multiprocessing_context="fork"):
        optimizer.zero_grad()
        (model(x)[:, 0] - y).square().mean().backward()
        optimizer.step()
    rows.log.close()


if __name__ == "__main__":
    train()
