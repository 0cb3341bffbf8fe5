# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "input_shape_mismatch"
# needs = []
# ///
"""The number of features is found by trying sizes: those that do not fit raise, and are caught."""

import torch

features = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten())
for size in (4, 16, 64):
    head = torch.nn.Linear(8 * (size - 2) ** 2, 10)
    try:
        print(size, head(features(torch.zeros(1, 3, 16, 16))).shape)
    except RuntimeError:
        print(size, "does not fit")
