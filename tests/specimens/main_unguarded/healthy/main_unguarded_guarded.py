# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 60
# near = "main_unguarded"
# needs = []
# ///
"""The same by spawn, with the training under a guard."""

import torch
from torch.utils.data import DataLoader, TensorDataset

rows = TensorDataset(torch.rand(64, 4), torch.rand(64))

if __name__ == "__main__":
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for x, y in DataLoader(rows, batch_size=8, num_workers=2, multiprocessing_context="spawn"):
        optimizer.zero_grad()
        (model(x)[:, 0] - y).square().mean().backward()
        optimizer.step()
