"""The gradient of a function of arrays, on whichever backend runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np


def gradient(function: Callable[[list[Any]], Any], values: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """The function's value, and its slope by each of the arrays."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        value, slopes = jax.value_and_grad(function)(list(values))
        return float(value), [np.asarray(slope) for slope in slopes]
    if backend == "torch":
        import torch

        tensors = [torch.tensor(each, requires_grad=True) for each in values]
        value = function(tensors)
        value.backward()
        return value.item(), [np.zeros(each.shape) if each.grad is None else each.grad.numpy() for each in tensors]
    import tensorflow as tf

    tensors = [tf.constant(each) for each in values]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        value = function(tensors)
    slopes = tape.gradient(value, tensors, unconnected_gradients="zero")
    return float(value), [tf.convert_to_tensor(slope).numpy() for slope in slopes]
