"""The largest of many, and of equal ones the first: PyTorch alone takes any of them, which would make what is found a matter of
chance where scores are equal. (They often are: regions narrower than a pixel of the map are read at the same places.)"""

from __future__ import annotations

from typing import Any

import keras

Tensor = Any


def top_k(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Along the last axis: the values, the largest first, and where they stood."""
    if keras.backend.backend() != "torch":
        largest, place = keras.ops.top_k(values, count)
        return largest, place
    import torch

    largest, place = torch.sort(keras.ops.convert_to_tensor(values), dim=-1, descending=True, stable=True)
    return largest[..., :count], place[..., :count].int()
