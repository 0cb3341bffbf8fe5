# /// specimen
# cause = "matrix_shapes_mismatch"
# also = []
# where = "MADE HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "matrix_shapes_mismatch_lazy"
# needs = []
# ///
"""The layer behind the flattened features was made for images of 32 pixels, and the images have 40."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(8 * 14 * 14, 4)  # MADE HERE

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.features(images)
        return self.head(features.flatten(1))


def main() -> None:
    model = Classifier()
    images = torch.randn(4, 3, 40, 40)
    mark()
    print(model(images).shape)


if __name__ == "__main__":
    main()
