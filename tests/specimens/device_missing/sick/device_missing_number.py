# /// specimen
# cause = "device_missing"
# also = []
# where = "DEVICE HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "device_missing_asked"
# needs = []
# ///
"""The settings name a GPU that this machine does not have: whatever it has, it has no sixty-fourth."""

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

SETTINGS = {"device": "cuda:63", "width": 32}  # DEVICE HERE


def main() -> None:
    model = nn.Sequential(nn.Linear(4, SETTINGS["width"]), nn.Tanh(), nn.Linear(SETTINGS["width"], 1))
    mark()
    model = model.to(SETTINGS["device"])
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(5):
        loss = model(torch.randn(64, 4, device=SETTINGS["device"])).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
