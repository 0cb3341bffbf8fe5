"""Maps (batch, height, width, channels) on PyTorch: whether one lies there, and how its own functions take it."""

from __future__ import annotations

from typing import Any

import keras

Tensor = Any


def is_of_torch(x: Tensor) -> bool:
    """A tensor with values, and not one of Keras's that has a shape alone."""
    if keras.backend.backend() != "torch":
        return False
    import torch

    return isinstance(x, torch.Tensor) and x.device.type != "meta"


def channels_second(x: Tensor) -> Tensor:
    """As PyTorch counts: channels before rows. A view: what lies in memory stays where it is."""
    return x.permute(0, 3, 1, 2)


def channels_last(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1)
