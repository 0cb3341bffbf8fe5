"""Contrastive pre-training of small sensor windows (SimCLR style)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class SensorWindows(Dataset):
    def __init__(self, n=162, length=64, seed=0):
        g = torch.Generator().manual_seed(seed)
        phase = torch.rand(n, 1, generator=g) * 2 * math.pi
        freq = 1 + 4 * torch.rand(n, 1, generator=g)
        t = torch.linspace(0, 2 * math.pi, length)
        self.x = torch.sin(freq * t + phase)

    def __len__(self):
        return len(self.x)

    def augment(self, x):
        return x * (0.8 + 0.4 * torch.rand(1)) + 0.05 * torch.randn_like(x)

    def __getitem__(self, i):
        return self.augment(self.x[i]), self.augment(self.x[i])


class Encoder(nn.Module):
    def __init__(self, length=64, dim=64, proj=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(length, dim), nn.ReLU())
        self.projector = nn.Sequential(
            nn.Linear(dim, dim), nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, proj)
        )

    def forward(self, x):
        return F.normalize(self.projector(self.trunk(x)), dim=1)


def nt_xent(a, b, temperature=0.5):
    z = torch.cat([a, b])
    sim = z @ z.t() / temperature
    sim.fill_diagonal_(-1e9)
    n = len(a)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


def main(epochs=5, batch_size=32):
    torch.manual_seed(1)
    data = SensorWindows()
    n_train = int(0.8 * len(data))
    train, held_out = random_split(data, [n_train, len(data) - n_train])
    loader = DataLoader(train, batch_size=batch_size, shuffle=True, num_workers=2)
    model = Encoder()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for view1, view2 in loader:
            loss = nt_xent(model(view1), model(view2))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} nt-xent {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
