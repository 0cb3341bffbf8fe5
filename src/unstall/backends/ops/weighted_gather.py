"""Weighted sums of many rows of a table. XLA reads and adds in one go what Keras writes out; PyTorch, operation by operation,
would first lay all the rows beside each other, which for the regions of one step are several GiB."""

from __future__ import annotations

from typing import Any

from unstall.backends.ops.nn import is_of_torch

Tensor = Any


def gather_weighted_rows(tables: Tensor, place: Tensor, weight: Tensor) -> Tensor | None:
    """Of each table (batch, rows, channels), at (batch, sums, terms): (batch, sums, channels). None: write it out."""
    if not is_of_torch(tables):
        return None
    import torch

    batch, rows, channels = tables.shape
    _, sums, terms = place.shape
    first = torch.arange(batch, dtype=place.dtype, device=place.device) * rows
    place = (place + first[:, None, None]).reshape(-1, terms)
    summed = torch.nn.functional.embedding_bag(
        place, tables.reshape(-1, channels), mode="sum", per_sample_weights=weight.reshape(-1, terms)
    )
    return summed.reshape(batch, sums, channels)
