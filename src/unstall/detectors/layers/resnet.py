"""ResNet-50 as torchvision has it: stride in the 3×3 convolution of a block, names by torchvision's keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import keras
from keras import ops

from unstall.backends.devices import is_compiled_for_card
from unstall.config.detectors.ranges import RESNET50, RESNET_STEM_CHANNELS
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.conv_norm import BatchNorm, Conv, StemConv, max_pool, rematerialize
from unstall.detectors.layers.initializers import he_normal

EXPANSION = 4


@dataclass(frozen=True)
class Norms:
    """How a backbone normalises. Frozen norms never learn and use the statistics that came with the weights."""

    frozen: bool = True
    epsilon: float = 1e-5
    momentum: float = 0.9

    def make(self, name: str) -> BatchNorm:
        return BatchNorm(name=name, epsilon=self.epsilon, momentum=self.momentum, trainable=not self.frozen)


class Bottleneck(keras.layers.Layer):  # type: ignore[misc]
    def __init__(self, channels: int, stride: int, is_first: bool, norms: Norms, name: str) -> None:
        super().__init__(name=name)

        def pair(key: str, norm: str, filters: int, size: int, **more: Any) -> tuple[Conv, BatchNorm]:
            conv = Conv(filters, size, use_bias=False, kernel_initializer=he_normal(), name=f"{name}.{key}", **more)
            return conv, norms.make(f"{name}.{norm}")

        self.conv1, self.bn1 = pair("conv1", "bn1", channels, 1)
        self.conv2, self.bn2 = pair("conv2", "bn2", channels, 3, stride=stride)
        self.conv3, self.bn3 = pair("conv3", "bn3", channels * EXPANSION, 1)
        self.shortcut = pair("downsample.0", "downsample.1", channels * EXPANSION, 1, stride=stride) if is_first else None

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        y = ops.relu(self.bn1(self.conv1(x), training=training))
        y = ops.relu(self.bn2(self.conv2(y), training=training))
        y = self.bn3(self.conv3(y), training=training)
        if self.shortcut is not None:
            conv, norm = self.shortcut
            x = norm(conv(x), training=training)
        return ops.relu(x + y)


class Stem(keras.layers.Layer):  # type: ignore[misc]
    """What comes before the first stage. Its layers have the names of the backbone's own."""

    def __init__(self, width: int, norms: Norms, name: str) -> None:
        super().__init__(name=f"{name}.stem")
        self.conv1 = StemConv(width, kernel_initializer=he_normal(), name=f"{name}.conv1")
        self.bn1 = norms.make(f"{name}.bn1")

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        x = self.conv1(x)
        if not (training and self.trainable and is_compiled_for_card()):
            return _halved(self.bn1(x, training=training))
        # What comes out of the norm is large, and sooner computed again than kept: it goes no way to memory and back.
        return keras.remat(_normed_and_halved)(x, *self.bn1.line(ops.cast(x, "float32"), training))


def _normed_and_halved(x: Tensor, factor: Tensor, summand: Tensor) -> Tensor:
    return _halved(ops.cast(ops.cast(x, "float32") * factor + summand, x.dtype))


def _halved(x: Tensor) -> Tensor:
    return max_pool(ops.relu(x), 3, 2, around=1)


class ResNet(keras.layers.Layer):  # type: ignore[misc]
    """Images to the outputs of its four stages (strides 4, 8, 16, 32)."""

    stages = ("conv1", "layer1", "layer2", "layer3", "layer4")  # in the order in which they are frozen

    def __init__(
        self, blocks: Sequence[int] = RESNET50, width: int = RESNET_STEM_CHANNELS, norms: Norms | None = None,
        remat: bool = False, name: str = "backbone.body",
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        norms = norms or Norms()
        self.stem = Stem(width, norms, name)
        self.remat = remat
        self.layers_of_stage = [
            [
                Bottleneck(
                    width * 2**stage, 2 if stage and not block else 1, not block, norms, f"{name}.layer{stage + 1}.{block}"
                )
                for block in range(count)
            ]
            for stage, count in enumerate(blocks)
        ]

    def call(self, x: Tensor, training: bool | None = None) -> list[Tensor]:
        x = self._computed(self.stem, x, training)
        outputs = []
        for stage in self.layers_of_stage:
            for block in stage:
                x = self._computed(block, x, training)
            outputs.append(x)
        return outputs

    def _computed(self, part: keras.layers.Layer, x: Tensor, training: bool | None) -> Tensor:
        return rematerialize(part, x) if self.remat and training and part.trainable else part(x, training=training)

    def freeze(self, trainable_backbone_layers: int) -> None:
        """The last so many of its five stages learn; the stem's norm goes with the stem. Frozen norms stay frozen."""
        frozen = self.stages[: max(0, len(self.stages) - trainable_backbone_layers)]
        if "conv1" in frozen:
            self.stem.trainable = False
        for number, stage in enumerate(self.layers_of_stage):
            if f"layer{number + 1}" in frozen:
                for block in stage:
                    block.trainable = False
