# /// specimen
# cause = "autograd_refused"
# also = []
# where = "BACKWARD HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "autograd_refused_detached_state"
# needs = []
# ///
"""The state of a recurrent network is carried to the next window with its graph, which the last backward has freed."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def main() -> None:
    cell = nn.GRUCell(4, 8)
    optimizer = torch.optim.SGD(cell.parameters(), 0.1)
    state = torch.zeros(2, 8)
    mark()
    for _ in range(4):
        state = cell(torch.randn(2, 4), state)
        loss = state.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()  # BACKWARD HERE
        optimizer.step()


if __name__ == "__main__":
    main()
