# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "device_missing"
# needs = []
# ///
"""The program tries the GPU of its settings, and goes on with the CPU where there is none."""

import torch
from torch import nn

SETTINGS = {"device": "cuda:63", "width": 32}


def choose_device() -> str:
    try:
        torch.zeros(1, device=SETTINGS["device"])
    except (RuntimeError, AssertionError):
        return "cpu"
    return SETTINGS["device"]


device = choose_device()
model = nn.Sequential(nn.Linear(4, SETTINGS["width"]), nn.Tanh(), nn.Linear(SETTINGS["width"], 1)).to(device)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(20):
    x = torch.randn(64, 4, device=device)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
