"""Norms in one kernel, where the backend has one. XLA, which compiles for TensorFlow and JAX, makes its own of what the layers
write out; PyTorch runs operation by operation, and would read and keep every map several times in float32."""

from __future__ import annotations

from typing import Any

from unstall.backends.maps import channels_last, channels_second, is_of_torch

Tensor = Any


def batch_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor] | None:
    """(batch, height, width, channels) by its own statistics, and these: mean and variance. None: write it out."""
    if not is_of_torch(x):
        return None
    import torch

    y, mean, inverse = torch.native_batch_norm(channels_second(x), gamma, beta, None, None, True, 0.0, epsilon)
    return channels_last(y), mean.detach(), (inverse.detach() ** -2 - epsilon).clamp_min(0.0)


def frozen_norm(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor, epsilon: float) -> Tensor | None:
    """By statistics that are given. None: write it out."""
    if not is_of_torch(x):
        return None
    import torch

    y = torch.nn.functional.batch_norm(channels_second(x), mean, variance, gamma, beta, False, 0.0, epsilon)
    return channels_last(y)


def group_norm(x: Tensor, groups: int, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor | None:
    if not is_of_torch(x):
        return None
    import torch

    y = torch.nn.functional.group_norm(channels_second(x), groups, gamma.to(x.dtype), beta.to(x.dtype), epsilon)
    return channels_last(y)
