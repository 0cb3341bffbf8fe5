import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))


class RoutedBlock(nn.Module):
    """Adds the second expert only when the gate asks for it."""

    def __init__(self, dim=32, hidden=64):
        super().__init__()
        self.gate = nn.Linear(dim, 1)
        self.base = Expert(dim, hidden)
        self.extra = Expert(dim, hidden)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x)).mean()
        y = self.base(self.norm(x))
        if g > 0.5:
            y = y + g * self.extra(self.norm(x))
        return x + y


class RoutedMLP(nn.Module):
    def __init__(self, d_in=16, dim=32, depth=2, n_classes=4):
        super().__init__()
        self.embed = nn.Linear(d_in, dim)
        self.blocks = nn.ModuleList(RoutedBlock(dim) for _ in range(depth))
        self.head = nn.Linear(dim, n_classes)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)
