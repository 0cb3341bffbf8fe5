# /// specimen
# cause = "tensor_dtype_mismatch"
# also = []
# where = "CONVERTED HERE"
# framework = "python"
# ends = "crashes"
# seconds = 60
# near = "tensor_dtype_mismatch_converted"
# needs = []
# ///
"""Rows of NumPy are float64, torch.from_numpy keeps that, and the weights of the model are float32."""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


def main() -> None:
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    table = np.random.default_rng(0).normal(size=(32, 6))
    rows = torch.from_numpy(table)  # CONVERTED HERE
    mark()
    print(model(rows).shape)


if __name__ == "__main__":
    main()
