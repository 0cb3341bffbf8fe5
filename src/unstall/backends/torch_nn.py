"""Maps (batch, height, width, channels) on PyTorch: whether one lies there, and how its own functions take it."""

from __future__ import annotations

from typing import Any

import keras

Tensor = Any


def is_torch_tensor(x: Tensor) -> bool:
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


# Convolutions and windows as PyTorch has them, on maps as they lie. Keras's own (3.15) copies each map twice before it is
# convolved, once into another order and once back, and pads in a third copy: more memory moved than the convolution itself
# moves.
#
# XLA, which compiles for TensorFlow and JAX, makes its own of what Keras writes: there these say None, which is: write it
# out.


def convolve(x: Tensor, kernel: Tensor, stride: int, padding: int, dilation: int = 1) -> Tensor | None:
    """(batch, height, width, channels) by (down, across, channels, filters), with so many zeros on each side."""
    if not is_torch_tensor(x):
        return None
    return _as_maps(_convolved, x, kernel.permute(3, 2, 0, 1), stride, padding, dilation, 1)


def convolve_depthwise(x: Tensor, kernel: Tensor, stride: int, padding: int, dilation: int = 1) -> Tensor | None:
    """Each channel by its own: (down, across, channels, 1)."""
    if not is_torch_tensor(x):
        return None
    return _as_maps(_convolved, x, kernel.permute(2, 3, 0, 1), stride, padding, dilation, x.shape[-1])


def max_pool(x: Tensor, size: int, stride: int, padding: int, takes_rest: bool) -> Tensor | None:
    """Of each window; `takes_rest`: also of what is left at the end, and too small for one."""
    if not is_torch_tensor(x):
        return None
    from torch.nn.functional import max_pool2d

    return _as_maps(max_pool2d, x, size, stride, padding, 1, takes_rest)


def _convolved(x: Tensor, kernel: Tensor, *how: int) -> Tensor:
    import torch

    kernel = kernel.to(x.dtype).contiguous(memory_format=torch.channels_last)
    return torch.nn.functional.conv2d(x, kernel, None, *how)


def _as_maps(function: Any, x: Tensor, *more: Any) -> Tensor:
    return channels_last(function(channels_second(x), *more))


# Norms in one kernel, where the backend has one. XLA, which compiles for TensorFlow and JAX, makes its own of what the layers
# write out; PyTorch runs operation by operation, and would read and keep every map several times in float32.


def batch_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor] | None:
    """(batch, height, width, channels) by its own statistics, and these: mean and variance. None: write it out."""
    if not is_torch_tensor(x):
        return None
    import torch

    y, mean, inverse = torch.native_batch_norm(channels_second(x), gamma, beta, None, None, True, 0.0, epsilon)
    return channels_last(y), mean.detach(), (inverse.detach() ** -2 - epsilon).clamp_min(0.0)


def batch_norm_frozen(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor, epsilon: float) -> Tensor | None:
    """By statistics that are given. None: write it out."""
    if not is_torch_tensor(x):
        return None
    import torch

    y = torch.nn.functional.batch_norm(channels_second(x), mean, variance, gamma, beta, False, 0.0, epsilon)
    return channels_last(y)


def group_norm(x: Tensor, groups: int, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor | None:
    if not is_torch_tensor(x):
        return None
    import torch

    y = torch.nn.functional.group_norm(channels_second(x), groups, gamma.to(x.dtype), beta.to(x.dtype), epsilon)
    return channels_last(y)
