"""Convolutions and norms as the published detectors have them: padded evenly on both sides, named by their key in torchvision.

The key is what weights are found by: the layer `backbone.body.conv1` takes `backbone.body.conv1.weight`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import keras
from keras import ops

from unstall.detectors.parts.boxes import Tensor

Precision = Literal["float32", "mixed_bfloat16", "mixed_float16"]


@contextmanager
def precision(name: Precision) -> Iterator[None]:
    """Layers made inside compute so. Variables and losses stay in float32."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


class Keyed:
    """Stands before the layer's own class. The key has dots; the layer's name has hyphens for them, as not every backend takes
    a dot in the name of a variable."""

    def __init__(self, *values: Any, name: str, **more: Any) -> None:
        super().__init__(*values, name=name.replace(".", "-"), **more)  # type: ignore[call-arg]
        self.key = name


class Conv(Keyed, keras.layers.Conv2D):  # type: ignore[misc]
    """With as much padding before as behind, where Keras's `same` pads an image of even size behind only."""

    def __init__(
        self, filters: int, size: int, *, stride: int = 1, dilation: int = 1, pad: int | None = None, **more: Any
    ) -> None:
        around = dilation * (size - 1) // 2 if pad is None else pad
        is_same = stride == 1 and around == dilation * (size - 1) // 2
        padding = "same" if is_same and around else "valid"
        super().__init__(filters, size, strides=stride, dilation_rate=dilation, padding=padding, **more)
        self._around = 0 if is_same else around

    def call(self, x: Tensor) -> Tensor:
        return super().call(padded(x, self._around))

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        batch, height, width, channels = shape
        grown = (side + 2 * self._around if side is not None else None for side in (height, width))
        result: tuple[int | None, ...] = super().compute_output_shape((batch, *grown, channels))
        return result


class DepthwiseConv(Keyed, keras.layers.DepthwiseConv2D):  # type: ignore[misc]
    """The same, each channel by itself."""

    def __init__(self, size: int, *, stride: int = 1, dilation: int = 1, **more: Any) -> None:
        super().__init__(size, strides=stride, dilation_rate=dilation, padding="same" if stride == 1 else "valid", **more)
        self._around = 0 if stride == 1 else dilation * (size - 1) // 2

    def call(self, x: Tensor) -> Tensor:
        return super().call(padded(x, self._around))

    def compute_output_shape(self, shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        batch, height, width, channels = shape
        grown = (side + 2 * self._around if side is not None else None for side in (height, width))
        result: tuple[int | None, ...] = super().compute_output_shape((batch, *grown, channels))
        return result


def padded(x: Tensor, around: int) -> Tensor:
    return ops.pad(x, ((0, 0), (around, around), (around, around), (0, 0))) if around else x


def max_pool(x: Tensor, size: int, stride: int, around: int = 0) -> Tensor:
    """After a ReLU, where zeros at the border never win over what is there."""
    return ops.max_pool(padded(x, around), size, stride, padding="valid")


class BatchNorm(Keyed, keras.layers.BatchNormalization):  # type: ignore[misc]
    """Frozen (`trainable=False`) it is a factor and a summand. Momentum is Keras's: 1 less PyTorch's."""

    def __init__(self, *, name: str, epsilon: float = 1e-5, momentum: float = 0.9, **more: Any) -> None:
        super().__init__(name=name, epsilon=epsilon, momentum=momentum, **more)


def leaf_layers(layer: keras.layers.Layer) -> Iterator[keras.layers.Layer]:
    """Those that hold variables of their own, in the order in which they were made."""
    for each in layer._flatten_layers():
        if each._trainable_variables or each._non_trainable_variables:
            yield each
