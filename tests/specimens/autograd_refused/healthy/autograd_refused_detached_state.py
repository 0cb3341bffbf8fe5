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
"""The state of a recurrent network is detached after each window; a second backward on trial is caught."""

import torch
from torch import nn

cell = nn.GRUCell(4, 8)
optimizer = torch.optim.SGD(cell.parameters(), 0.1)
state = torch.zeros(2, 8)
for _ in range(4):
    state = cell(torch.randn(2, 4), state.detach())
    loss = state.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    try:
        loss.backward()
    except RuntimeError:  # its graph is gone, as it should be
        optimizer.step()
print(state.shape)
