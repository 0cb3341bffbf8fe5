"""Feature pyramid: the deep, coarse maps of a backbone, added from the top down to its fine ones."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from unstall.config.detectors.ranges import FPN_CHANNELS
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.conv_norm import Conv
from unstall.detectors.layers.initializers import variance_scaling
from unstall.detectors.layers.resnet import Norms


class FeaturePyramidNetwork(keras.layers.Layer):  # type: ignore[misc]
    """Backbone maps, finest first, to as many maps of `channels`. With norms (and then without biases) where they are given."""

    def __init__(self, levels: int, channels: int = FPN_CHANNELS, norms: Norms | None = None, name: str = "backbone.fpn") -> None:
        super().__init__(name=name)

        def conv(kind: str, level: int, size: int) -> Conv:
            key, start = f"{name}.{kind}.{level}.0", variance_scaling(1.0, "in", is_uniform=True)  # He's, for a slope of 1
            return Conv(channels, size, use_bias=norms is None, kernel_initializer=start, name=key)

        self.inner = [conv("inner_blocks", level, 1) for level in range(levels)]
        self.outer = [conv("layer_blocks", level, 3) for level in range(levels)]
        self.inner_norms = [norms.make(f"{name}.inner_blocks.{level}.1") for level in range(levels)] if norms else None
        self.outer_norms = [norms.make(f"{name}.layer_blocks.{level}.1") for level in range(levels)] if norms else None

    def call(self, maps: Sequence[Tensor], training: bool | None = None) -> list[Tensor]:
        results: list[Tensor] = []
        above = None
        for level in reversed(range(len(maps))):
            here = self.inner[level](maps[level])
            if self.inner_norms is not None:
                here = self.inner_norms[level](here, training=training)
            if above is not None:
                here = here + upsample(above, here.shape[1], here.shape[2])
            above = here
            out = self.outer[level](here)
            if self.outer_norms is not None:
                out = self.outer_norms[level](out, training=training)
            results.insert(0, out)
        return results


def upsample(x: Tensor, height: int, width: int) -> Tensor:
    """To exactly that size, each pixel repeated: the nearest one, as torchvision takes it."""
    down, across = height // x.shape[1], width // x.shape[2]
    if (down * x.shape[1], across * x.shape[2]) == (height, width):
        return ops.repeat(ops.repeat(x, down, axis=1), across, axis=2)
    rows = [row * x.shape[1] // height for row in range(height)]
    columns = [column * x.shape[2] // width for column in range(width)]
    return ops.take(ops.take(x, ops.convert_to_tensor(rows), axis=1), ops.convert_to_tensor(columns), axis=2)
