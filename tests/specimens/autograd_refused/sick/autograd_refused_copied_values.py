# /// specimen
# cause = "autograd_refused"
# also = []
# where = "COPIED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "autograd_refused_stacked"
# needs = []
# ///
"""The losses of several images are put into one tensor by torch.tensor, which copies their values without gradients."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def main() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    mark()
    for _ in range(3):
        losses = [model(torch.randn(4)).pow(2).mean() for _ in range(5)]
        losses = torch.tensor(losses)  # COPIED HERE
        loss = losses.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
