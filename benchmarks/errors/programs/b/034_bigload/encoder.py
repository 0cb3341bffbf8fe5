import math

import torch
from torch import nn


def sinusoid(length, dim):
    position = torch.arange(length).unsqueeze(1)
    div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    table = torch.zeros(length, dim)
    table[:, 0::2] = torch.sin(position * div)
    table[:, 1::2] = torch.cos(position * div)
    return table


class TextEncoder(nn.Module):
    def __init__(self, vocab=200, dim=32, max_len=64, n_classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.positions = sinusoid(max_len, dim)
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=64, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, ids):
        x = self.embed(ids) + self.positions[: ids.size(1)]
        return self.head(self.layers(x).mean(dim=1))
