# /// specimen
# cause = "process_died"
# also = []
# where = "AWAITED HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 60
# near = "process_died_survived"
# needs = []
# ///
"""A decoder crashes on one file, in a worker of the loader."""

import os
import signal
import sys
from pathlib import Path

import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Images(Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, at):
        if at == 200:
            os.kill(os.getpid(), signal.SIGSEGV)  # as a decoder does
        image = torch.full((16,), at / 256)
        return image, image.sum()


def train():
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x, y in DataLoader(Images(), batch_size=8, num_workers=2):  # AWAITED HERE
        optimizer.zero_grad()
        (model(x)[:, 0] - y).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    mark()
    train()
