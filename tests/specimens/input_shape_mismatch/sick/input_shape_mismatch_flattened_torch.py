# /// specimen
# cause = "input_shape_mismatch"
# also = []
# where = "MADE HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "input_shape_mismatch_tries_sizes"
# needs = []
# ///
"""The last layer was made for images of 28 pixels. The images have 32, so more features come out of the convolutions before it."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten())
        self.head = torch.nn.Linear(8 * 13 * 13, 10)  # MADE HERE

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(images))


def main() -> None:
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    mark()
    for _ in range(10):
        loss = torch.nn.functional.cross_entropy(model(torch.zeros(4, 3, 32, 32)), torch.zeros(4, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
