"""VGG-16 as SSD uses it: its last layers, which once looked at a whole image, look at every place as convolutions instead.

Papers: Simonyan and Zisserman, "Very Deep Convolutional Networks", 2014; Liu and others, "SSD", 2015. Keys are torchvision's: a
convolution's number counts the activations and poolings before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import keras
from keras import ops

from unstall.backends.devices import is_compiled_for_card
from unstall.config.detectors.ranges import VGG16, VGG_DILATION, VGG_WIDTH
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.conv_norm import Conv, max_pool, rematerialize
from unstall.detectors.layers.initializers import RandomInitializer, glorot_uniform, he_normal
from unstall.detectors.layers.resnet import Norms

STAGE_WIDTHS = (1, 2, 4, 8, 8)
LAST_WIDTH = 16  # of the convolutions that were once fully connected


class Step(NamedTuple):
    filters: int
    size: int
    stride: int = 1
    dilation: int = 1
    pad: int | None = None


class Convs(keras.layers.Layer):  # type: ignore[misc]
    """Convolutions, each followed by a norm where norms are given, and by a ReLU. `first` is the number of the first in a row."""

    def __init__(
        self, steps: Sequence[Step], row: str, first: int = 0, norms: Norms | None = None,
        start: RandomInitializer | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name=f"{row}.{first}")
        self.convs, self.norms = [], []
        number = first
        for step in steps:
            key = f"{row}.{number}"
            self.convs.append(
                Conv(
                    step.filters, step.size, stride=step.stride, dilation=step.dilation, pad=step.pad,
                    use_bias=norms is None, kernel_initializer=start or glorot_uniform(), name=key,
                )
            )  # fmt: skip
            if norms is not None:
                self.norms.append(norms.make(f"{row}.{number + 1}"))
            number += 2 if norms is None else 3
        self.following = number

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        for number, conv in enumerate(self.convs):
            x = conv(x)
            x = ops.relu(self.norms[number](x, training=training) if self.norms else x)
        return x


def _halved(x: Tensor) -> Tensor:
    return max_pool(x, 2, 2)


class VGG(keras.layers.Layer):  # type: ignore[misc]
    """Images to two maps: that of the fourth stage (stride 8), and the last (stride 16)."""

    def __init__(
        self, convs: Sequence[int] = VGG16, width: int = VGG_WIDTH, dilation: int = VGG_DILATION, norms: Norms | None = None,
        remat: bool = False, name: str = "backbone",
    ) -> None:  # fmt: skip
        super().__init__(name=f"{name}.vgg")
        self.remat = remat
        self.stages = []
        row, number = f"{name}.features", 0
        for stage, count in enumerate(convs):
            if stage == len(convs) - 1:  # SSD counts from here again: its pooling is 0
                row, number = f"{name}.extra.0", 1
            steps = [Step(width * STAGE_WIDTHS[stage], 3)] * count
            self.stages.append(Convs(steps, row, number, norms, start=he_normal()))
            number = self.stages[-1].following + 1  # the pooling between
        last = width * LAST_WIDTH
        steps = [Step(last, 3, dilation=dilation), Step(last, 1)]
        self.last = Convs(steps, f"{row}.{number - 1}", 1, norms)

    def call(self, x: Tensor, training: bool | None = None) -> list[Tensor]:
        first, second, third, fourth, fifth = self.stages
        x = self._first(first, x, training)
        x = max_pool(self._run(second, x, training), 2, 2)
        x = max_pool(self._run(third, x, training), 2, 2, takes_rest=True)
        fine = self._run(fourth, x, training)
        x = self._run(fifth, max_pool(fine, 2, 2), training)
        return [fine, self._run(self.last, max_pool(x, 3, 1, around=1), training)]

    def _first(self, stage: Convs, x: Tensor, training: bool | None) -> Tensor:
        """Its maps are the largest of all, and soon computed: on a card that is dearer in memory than computing them again is."""
        if training and stage.trainable and (self.remat or is_compiled_for_card()):
            return rematerialize(stage, x, then=_halved)
        return _halved(stage(x, training=training))

    def _run(self, stage: Convs, x: Tensor, training: bool | None) -> Tensor:
        return rematerialize(stage, x) if self.remat and training else stage(x, training=training)

    def freeze(self, trainable_backbone_layers: int) -> None:
        """The last so many of its five stages learn; the convolutions that SSD has added always do."""
        for stage in self.stages[: max(0, len(self.stages) - trainable_backbone_layers)]:
            stage.trainable = False
