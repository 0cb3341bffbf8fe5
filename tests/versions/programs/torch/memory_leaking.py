# /// program
# cause = "host_memory_leaking"
# where = "KEPT HERE"
# ends = "exits"
# ///
"""A loop keeps outputs of every step in a list."""

import time

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
features = torch.randn(640, 8)
labels = features[:, :1] * 2
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)


def train_step(x, y):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


kept = []
for epoch in range(60):
    for at in range(0, 640, 32):
        loss = train_step(features[at : at + 32], labels[at : at + 32])
        kept.append(loss.detach().expand(64000).clone())  # KEPT HERE
        time.sleep(0.02)
