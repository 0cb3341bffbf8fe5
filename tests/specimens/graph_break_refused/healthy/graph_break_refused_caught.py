# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "graph_break_refused"
# needs = []
# ///
"""Whether a model can be compiled into one graph is found out by trying; else it is compiled in parts."""

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.narrow(x)
        if x.abs().mean() > 0.8:
            out = out + self.wide(x)
        return out


model = nn.Sequential(nn.Linear(8, 16), Gate(16), nn.Linear(16, 1))
try:
    step = torch.compile(model, fullgraph=True, backend="eager")
    step(torch.randn(32, 8))
except torch._dynamo.exc.Unsupported:
    step = torch.compile(model, backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(5):
    x = torch.randn(32, 8)
    loss = (step(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
