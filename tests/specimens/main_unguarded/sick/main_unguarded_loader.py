# /// specimen
# cause = "main_unguarded"
# also = []
# where = "RUN AGAIN HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 60
# near = "main_unguarded_guarded"
# needs = []
# ///
"""The workers of a loader are started by spawn, and the training stands at the top level of the file."""

import sys
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

rows = TensorDataset(torch.rand(64, 4), torch.rand(64))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
mark()
for x, y in DataLoader(rows, batch_size=8, num_workers=2, multiprocessing_context="spawn"):  # RUN AGAIN HERE
    optimizer.zero_grad()
    (model(x)[:, 0] - y).square().mean().backward()
    optimizer.step()
