# /// program
# cause = "program_error"
# where = "FAILS HERE"
# ends = "crashes"
# compare = true
# ///
"""A Dataset raises for one of its rows."""

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
torch.set_num_threads(1)
features = torch.randn(640, 8)
labels = features[:, :1] * 2
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)


class Rows(Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        if index == 333:
            raise RuntimeError("no annotation for image %d" % index)  # FAILS HERE
        return features[index], labels[index]



def train_step(x, y):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for x, y in DataLoader(Rows(), batch_size=32):
    train_step(x, y)
