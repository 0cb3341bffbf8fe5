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
"""The table has got two columns more since the model was written for twelve."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


COLUMNS = 14


class Regressor(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = torch.nn.Linear(12, 32)  # MADE HERE
        self.out = torch.nn.Linear(32, 1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.hidden(rows)))


def main() -> None:
    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    rows, prices = torch.randn(64, COLUMNS), torch.randn(64, 1)
    mark()
    for start in range(0, 64, 8):
        batch = rows[start : start + 8]
        loss = torch.nn.functional.mse_loss(model(batch), prices[start : start + 8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
