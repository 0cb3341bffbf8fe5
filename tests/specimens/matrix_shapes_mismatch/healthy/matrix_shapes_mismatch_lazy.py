# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "matrix_shapes_mismatch"
# needs = []
# ///
"""The layer behind the flattened features takes its size from the first batch, whatever the images have."""

import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 8, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.LazyLinear(4))
print(model(torch.randn(4, 3, 40, 40)).shape)
