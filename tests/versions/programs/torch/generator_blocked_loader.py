# /// program
# cause = "generator_blocked"
# where = "BLOCKED HERE"
# ends = "hangs"
# ///
"""A Dataset reads one of its labels from a socket, and the other side falls silent."""

import socket

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
features = torch.randn(640, 8)
labels = features[:, :1] * 2
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)

near, far = socket.socketpair()


class Rows(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        if index == 333:
            near.recv(1)  # BLOCKED HERE
        return features[index], labels[index]



def train_step(x, y):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for epoch in range(5):
    for x, y in DataLoader(Rows(), batch_size=32):
        train_step(x, y)
