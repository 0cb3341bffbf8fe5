# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "state_dict_mismatch"
# needs = []
# ///
"""The weights of another head are tried, refused, and left out."""

import torch
from torch import nn

saved = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 21)).state_dict()
model = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 2))
try:
    model.load_state_dict(saved)
except RuntimeError:  # another number of classes
    body = {name: value for name, value in saved.items() if not name.startswith("1.")}
    print(model.load_state_dict(body, strict=False))
print(model(torch.ones(1, 8)).shape)
