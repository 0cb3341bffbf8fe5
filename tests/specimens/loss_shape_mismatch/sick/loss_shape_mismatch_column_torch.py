# /// specimen
# cause = "loss_shape_mismatch"
# also = []
# where = "COMPARED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "loss_shape_mismatch_column"
# needs = []
# ///
"""The model gives one column, and the labels are a plain row of numbers: the loss refuses to compare them."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def main() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    criterion = torch.nn.BCEWithLogitsLoss()
    rows, labels = torch.randn(64, 8), torch.randint(0, 2, (64,)).float()
    mark()
    for first in range(0, 64, 16):
        loss = criterion(model(rows[first : first + 16]), labels[first : first + 16])  # COMPARED HERE
        loss.backward()


if __name__ == "__main__":
    main()
