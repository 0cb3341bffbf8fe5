import torch
from torch import nn


class GridDetector(nn.Module):
    """Predicts one objectness score per 8x8 cell."""

    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.score = nn.Conv2d(width, 1, 1)

    def forward(self, images):
        return self.score(self.body(images)).squeeze(1)


def encode(targets, cells=8, stride=8):
    grid = torch.zeros(len(targets), cells, cells)
    for i, t in enumerate(targets):
        centre = (t["boxes"][:, :2] + t["boxes"][:, 2:]) / 2
        ij = (centre / stride).long().clamp(0, cells - 1)
        grid[i, ij[:, 1], ij[:, 0]] = 1.0
    return grid
