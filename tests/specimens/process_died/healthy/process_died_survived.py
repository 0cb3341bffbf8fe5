# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "process_died"
# needs = []
# ///
"""A process that prepares the data is ended on purpose, one fails and is done without, and the workers of the loader are well."""

import multiprocessing
import os
import time

import torch
from torch.utils.data import DataLoader, TensorDataset


def fail():
    os._exit(3)


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    waiting, failing = context.Process(target=time.sleep, args=(60,)), context.Process(target=fail)
    waiting.start()
    failing.start()
    waiting.terminate()
    failing.join()
    rows = TensorDataset(torch.rand(64, 4), torch.rand(64))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x, y in DataLoader(rows, batch_size=8, num_workers=2):
        optimizer.zero_grad()
        (model(x)[:, 0] - y).square().mean().backward()
        optimizer.step()
    print(failing.exitcode)
