# /// program
# cause = ""
# where = ""
# ends = "exits"
# steps = 199
# loss = true
# compare = true
# ///
"""A plain loop that is well."""

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


losses = [float(train_step(x, y)) for _ in range(10) for x, y in DataLoader(list(zip(features, labels)), batch_size=32)]
print("fell:", losses[-1] < losses[0])
