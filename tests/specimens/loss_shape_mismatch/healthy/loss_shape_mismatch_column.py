# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "python"
# ends = "exits"
# seconds = 60
# near = "loss_shape_mismatch"
# needs = []
# ///
"""One column of outputs against labels that have been given the same shape."""

import torch

model = torch.nn.Linear(8, 1)
rows, labels = torch.randn(64, 8), torch.randint(0, 2, (64, 1)).float()
loss = torch.nn.BCEWithLogitsLoss()(model(rows), labels)
loss.backward()
print(float(loss))
