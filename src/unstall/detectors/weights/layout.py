"""Which variable of a layer holds which tensor of PyTorch, and how the one is turned into the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

from unstall.detectors.layers.conv_norm import list_leaf_layers
from unstall.detectors.weights.tensors import Array

Turn = Callable[[Array], Array]
NORMS = {"gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var"}


class Slot(NamedTuple):
    """One tensor of a detector."""

    key: str  # torchvision's name
    variable: Any
    shape: tuple[int, ...]  # in PyTorch's layout
    to_ours: Turn
    to_torch: Turn


def list_slots(detector: keras.Model) -> dict[str, Slot]:
    """Every tensor of the detector by its key."""
    result: dict[str, Slot] = {}
    for layer in list_leaf_layers(detector):
        for slot in _slots_of(layer):
            if slot.key in result:
                raise ValueError(f"Two layers of {detector.name} are named for '{slot.key}'.")
            result[slot.key] = slot
    return result


def _slots_of(layer: keras.layers.Layer) -> Iterator[Slot]:
    """A variable of a layer of another kind than these is the tensor of its own name."""
    for variable in [*layer._trainable_variables, *layer._non_trainable_variables]:
        name = variable.name
        if isinstance(layer, keras.layers.BatchNormalization | keras.layers.GroupNormalization):
            yield _slot(f"{layer.name}.{NORMS[name]}", variable, _same, _same)
        elif name == "bias":
            yield _slot(f"{layer.name}.bias", variable, _same, _same)
        elif isinstance(layer, keras.layers.DepthwiseConv2D):
            yield _slot(f"{layer.name}.weight", variable, _axes(2, 3, 0, 1), _axes(2, 3, 0, 1))
        elif isinstance(layer, keras.layers.Conv2D):
            yield _slot(f"{layer.name}.weight", variable, _axes(2, 3, 1, 0), _axes(3, 2, 0, 1))
        elif isinstance(layer, keras.layers.Dense):
            yield _dense(layer, variable)
        elif keras.backend.is_float_dtype(variable.dtype):
            yield _slot(f"{layer.name}.{name}", variable, _same, _same)


def _slot(key: str, variable: Any, to_ours: Turn, to_torch: Turn) -> Slot:
    shape = to_torch(np.empty(variable.shape, np.bool_)).shape
    return Slot(key, variable, shape, to_ours, to_torch)


def _dense(layer: keras.layers.Dense, kernel: Any) -> Slot:
    """Where the input was a flattened map, its rows are in the order of PyTorch's (channels, height, width) there."""
    flattened = getattr(layer, "flattened_from", None)
    if flattened is None:
        return _slot(f"{layer.name}.weight", kernel, _axes(1, 0), _axes(1, 0))
    height, width, channels = flattened

    def to_ours(array: Array) -> Array:
        return array.reshape(-1, channels, height, width).transpose(2, 3, 1, 0).reshape(height * width * channels, -1)

    def to_torch(array: Array) -> Array:
        return array.reshape(height, width, channels, -1).transpose(3, 2, 0, 1).reshape(-1, channels * height * width)

    return _slot(f"{layer.name}.weight", kernel, to_ours, to_torch)


def _same(array: Array) -> Array:
    return array


def _axes(*order: int) -> Turn:
    return lambda array: array.transpose(order)
