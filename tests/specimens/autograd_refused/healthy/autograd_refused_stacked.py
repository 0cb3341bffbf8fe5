# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "autograd_refused"
# needs = []
# ///
"""The losses of several images are stacked, which keeps their gradients; their values are copied for the log alone."""

import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    losses = [model(torch.randn(4)).pow(2).mean() for _ in range(5)]
    shown = torch.tensor([loss.item() for loss in losses])
    optimizer.zero_grad()
    torch.stack(losses).mean().backward()
    optimizer.step()
    print(shown.mean().item())
