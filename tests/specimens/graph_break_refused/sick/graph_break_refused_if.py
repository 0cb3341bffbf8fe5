# /// specimen
# cause = "graph_break_refused"
# also = []
# where = "BREAKS HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "graph_break_refused_caught"
# needs = []
# ///
"""A gate of a model looks at the values of a tensor, and the whole model is to be compiled into one graph."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Gate(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.narrow(x)
        if x.abs().mean() > 0.8:  # BREAKS HERE
            out = out + self.wide(x)
        return out


model = nn.Sequential(nn.Linear(8, 16), Gate(16), nn.Linear(16, 1))
step = torch.compile(model, fullgraph=True, backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
mark()
for _ in range(5):
    x = torch.randn(32, 8)
    loss = (step(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
