"""Convolutions and windows as PyTorch has them, on maps as they lie. Keras's own (3.15) copies each map twice before it is
convolved, once into another order and once back, and pads in a third copy: more memory moved than the convolution itself moves.

XLA, which compiles for TensorFlow and JAX, makes its own of what Keras writes: there these say None, which is: write it out."""

from __future__ import annotations

from typing import Any

from unstall.backends.maps import channels_last, channels_second, is_of_torch

Tensor = Any


def convolved(x: Tensor, kernel: Tensor, stride: int, around: int, dilation: int = 1) -> Tensor | None:
    """(batch, height, width, channels) by (down, across, channels, filters), with so many zeros on each side."""
    if not is_of_torch(x):
        return None
    return _as_maps(_convolved, x, kernel.permute(3, 2, 0, 1), stride, around, dilation, 1)


def convolved_by_channel(x: Tensor, kernel: Tensor, stride: int, around: int, dilation: int = 1) -> Tensor | None:
    """Each channel by its own: (down, across, channels, 1)."""
    if not is_of_torch(x):
        return None
    return _as_maps(_convolved, x, kernel.permute(2, 3, 0, 1), stride, around, dilation, x.shape[-1])


def largest(x: Tensor, size: int, stride: int, around: int, takes_rest: bool) -> Tensor | None:
    """Of each window; `takes_rest`: also of what is left at the end, and too small for one."""
    if not is_of_torch(x):
        return None
    from torch.nn.functional import max_pool2d

    return _as_maps(max_pool2d, x, size, stride, around, 1, takes_rest)


def _convolved(x: Tensor, kernel: Tensor, *how: int) -> Tensor:
    import torch

    kernel = kernel.to(x.dtype).contiguous(memory_format=torch.channels_last)
    return torch.nn.functional.conv2d(x, kernel, None, *how)


def _as_maps(function: Any, x: Tensor, *more: Any) -> Tensor:
    return channels_last(function(channels_second(x), *more))
