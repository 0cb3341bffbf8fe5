"""Norms in one kernel, where the backend has one. XLA, which compiles for TensorFlow and JAX, makes its own of what the layers
write out; PyTorch runs operation by operation, and would read and keep every map several times in float32."""

from __future__ import annotations

from typing import Any

import keras

Tensor = Any


def batch_norm(x: Tensor, gamma: Tensor, beta: Tensor, epsilon: float) -> tuple[Tensor, Tensor, Tensor] | None:
    """(batch, height, width, channels) by its own statistics, and these: mean and variance. None: write it out."""
    if keras.backend.backend() != "torch" or x.device.type == "meta":
        return None
    import torch

    y, mean, inverse = torch.native_batch_norm(_channels_second(x), gamma, beta, None, None, True, 0.0, epsilon)
    return _channels_last(y), mean.detach(), (inverse.detach() ** -2 - epsilon).clamp_min(0.0)


def frozen_norm(x: Tensor, gamma: Tensor, beta: Tensor, mean: Tensor, variance: Tensor, epsilon: float) -> Tensor | None:
    """By statistics that are given. None: write it out."""
    if keras.backend.backend() != "torch" or x.device.type == "meta":
        return None
    import torch

    y = torch.nn.functional.batch_norm(_channels_second(x), mean, variance, gamma, beta, False, 0.0, epsilon)
    return _channels_last(y)


def group_norm(x: Tensor, groups: int, gamma: Tensor, beta: Tensor, epsilon: float) -> Tensor | None:
    if keras.backend.backend() != "torch" or x.device.type == "meta":
        return None
    import torch

    y = torch.nn.functional.group_norm(_channels_second(x), groups, gamma.to(x.dtype), beta.to(x.dtype), epsilon)
    return _channels_last(y)


def _channels_second(x: Tensor) -> Tensor:
    """A view: what lies in memory stays as it is."""
    return x.permute(0, 3, 1, 2)


def _channels_last(x: Tensor) -> Tensor:
    return x.permute(0, 2, 3, 1)
