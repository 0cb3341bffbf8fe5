# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "tensor_dtype_mismatch"
# needs = []
# ///
"""The rows are tried as they are, refused, and converted; whole numbers and floating-point ones are added, which PyTorch converts."""

import numpy as np
import torch
from torch import nn

model = nn.Linear(6, 1)
rows = torch.from_numpy(np.random.default_rng(0).normal(size=(32, 6)))
try:
    model(rows)
except RuntimeError:  # float64
    rows = rows.float()
print((model(rows) + torch.arange(32)[:, None]).shape)
