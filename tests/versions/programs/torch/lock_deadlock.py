# /// program
# cause = "lock_deadlock"
# also = ["generator_blocked"]
# where = "TAKES IT AGAIN HERE"
# ends = "hangs"
# ///
"""A cache takes, with its lock held, the same lock again."""

import threading

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
features = torch.randn(640, 8)
labels = features[:, :1] * 2
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)

lock = threading.Lock()
kept = {}


def forget():
    with lock:  # TAKES IT AGAIN HERE
        kept.clear()


def remember(number, loss):
    with lock:
        kept[number] = float(loss)
        if len(kept) > 100:
            forget()



def train_step(x, y):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for number in range(1000):
    at = 32 * (number % 20)
    remember(number, train_step(features[at : at + 32], labels[at : at + 32]))
