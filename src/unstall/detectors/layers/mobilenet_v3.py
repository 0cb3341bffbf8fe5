"""MobileNetV3-Large as torchvision has it: cheap blocks that widen, filter each channel by itself, weigh channels, and narrow.

Paper: Howard and others, "Searching for MobileNetV3", 2019. The features are numbered as torchvision does: 0 the stem, 1 to 15
the blocks, 16 the last convolution. Faster R-CNN reads the maps of 13 and 16; SSDLite that of 16, and one from inside of 13.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import keras
from keras import ops

from unstall.config.detectors.ranges import MOBILENET_STAGES
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.conv_norm import BatchNorm, Conv, DepthwiseConv, rematerialize
from unstall.detectors.layers.initializers import RandomInitializer, he_normal
from unstall.detectors.layers.resnet import Norms

Activation = Literal["relu", "relu6", "hard_silu"]

STEM_CHANNELS = 16
LAST_EXPANSION = 6
SQUEEZE_SHARE = 4  # channels that squeeze-excite looks through, as a part of all
CHANNEL_STEP = 8  # numbers of channels are made divisible by this


class Block(NamedTuple):
    size: int  # of the filter
    expanded: int  # channels
    filters: int  # channels it gives
    squeezes: bool  # weighs its channels
    activation: Activation
    stride: int


BLOCKS = (
    Block(3, 16, 16, False, "relu", 1),
    Block(3, 64, 24, False, "relu", 2),
    Block(3, 72, 24, False, "relu", 1),
    Block(5, 72, 40, True, "relu", 2),
    Block(5, 120, 40, True, "relu", 1),
    Block(5, 120, 40, True, "relu", 1),
    Block(3, 240, 80, False, "hard_silu", 2),
    Block(3, 200, 80, False, "hard_silu", 1),
    Block(3, 184, 80, False, "hard_silu", 1),
    Block(3, 184, 80, False, "hard_silu", 1),
    Block(3, 480, 112, True, "hard_silu", 1),
    Block(3, 672, 112, True, "hard_silu", 1),
)  # fmt: skip
TAIL = (
    Block(5, 672, 160, True, "hard_silu", 2),
    Block(5, 960, 160, True, "hard_silu", 1),
    Block(5, 960, 160, True, "hard_silu", 1),
)
SPLIT = 1 + len(BLOCKS)  # the feature that SSDLite reads from inside: the first of the tail


def make_divisible(channels: float) -> int:
    """The nearest multiple of eight, but never a tenth less than asked for."""
    rounded = max(CHANNEL_STEP, int(channels + CHANNEL_STEP / 2) // CHANNEL_STEP * CHANNEL_STEP)
    return rounded if rounded >= 0.9 * channels else rounded + CHANNEL_STEP


class ConvNorm(keras.layers.Layer):  # type: ignore[misc]
    """A convolution, a norm and, where one is given, an activation: keys `0` and `1`. Without filters each channel by itself."""

    def __init__(
        self, filters: int | None, size: int, norms: Norms, activation: Activation | None, name: str,
        stride: int = 1, start: RandomInitializer | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        more: dict[str, Any] = {"stride": stride, "use_bias": False, "name": f"{name}.0"}
        initializer = start or he_normal()
        self.conv: Conv | DepthwiseConv
        if filters is None:
            self.conv = DepthwiseConv(size, depthwise_initializer=initializer, **more)
        else:
            self.conv = Conv(filters, size, kernel_initializer=initializer, **more)
        self.norm: BatchNorm = norms.make(f"{name}.1")
        self.activation = activation

    def call(self, x: Tensor, training: bool | None = None) -> Tensor:
        x = self.norm(self.conv(x), training=training)
        return getattr(ops, self.activation)(x) if self.activation else x


class SqueezeExcite(keras.layers.Layer):  # type: ignore[misc]
    """Weighs each channel by what all of them are on average."""

    def __init__(self, channels: int, name: str, start: RandomInitializer | None = None) -> None:
        super().__init__(name=name)
        squeezed = make_divisible(channels // SQUEEZE_SHARE)
        self.fc1 = Conv(squeezed, 1, kernel_initializer=start or he_normal(), name=f"{name}.fc1")
        self.fc2 = Conv(channels, 1, kernel_initializer=start or he_normal(), name=f"{name}.fc2")

    def call(self, x: Tensor) -> Tensor:
        weight = ops.mean(x, axis=(1, 2), keepdims=True)
        return x * ops.hard_sigmoid(self.fc2(ops.relu(self.fc1(weight))))


class InvertedResidual(keras.layers.Layer):  # type: ignore[misc]
    """Widens, filters, weighs and narrows; added to what came in where the shape is the same.

    `name.block.0` to `name.block.3` are its parts. What is missing (nothing to widen, no weighing) takes no number. With `keys`
    of its own for the parts it is the block that SSDLite cuts in two, and gives what it has widened, too.
    """

    def __init__(
        self, block: Block, channels: int, norms: Norms, name: str, start: RandomInitializer | None = None,
        keys: Callable[[int], str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        key = keys or (lambda part: f"{name}.block.{part}")
        self.shows_widened = keys is not None
        self.adds = block.stride == 1 and channels == block.filters
        part = 0
        self.widen = self.weigh = None
        if block.expanded != channels:
            self.widen = ConvNorm(block.expanded, 1, norms, block.activation, key(part), start=start)
            part += 1
        self.filter = ConvNorm(None, block.size, norms, block.activation, key(part), block.stride, start)
        part += 1
        if block.squeezes:
            self.weigh = SqueezeExcite(block.expanded, key(part), start)
            part += 1
        self.narrow = ConvNorm(block.filters, 1, norms, None, key(part), start=start)

    def call(self, x: Tensor, training: bool | None = None) -> Tensor | tuple[Tensor, Tensor]:
        widened = self.widen(x, training=training) if self.widen else x
        y = self.filter(widened, training=training)
        y = self.narrow(self.weigh(y) if self.weigh else y, training=training)
        if self.shows_widened:
            return widened, y
        return x + y if self.adds else y


class MobileNetV3(keras.layers.Layer):  # type: ignore[misc]
    """Images to the maps of the features named in `outputs`. A reduced tail has half the channels from feature 13 on.

    With `splits` the keys are those of SSDLite, which cuts the network in two inside of feature 13: `name.0.0` to `name.0.12`,
    `name.0.13` for what widens, `name.1.0` for the rest of that feature, `name.1.1` to `name.1.3`. Its map is the widened one.
    """

    def __init__(
        self, norms: Norms, reduced_tail: bool = False, outputs: Sequence[int] = (13, 16), name: str = "backbone.body",
        splits: bool = False, start: RandomInitializer | None = None, remat: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        self.outputs_of, self.splits, self.remat = tuple(outputs), splits, remat
        self.features: list[Any] = [ConvNorm(STEM_CHANNELS, 3, norms, "hard_silu", self._key(0), stride=2, start=start)]
        channels = STEM_CHANNELS
        for number, block in enumerate((*BLOCKS, *reduce_width(TAIL, 2 if reduced_tail else 1)), start=1):
            keys = self._key_inside_split if splits and number == SPLIT else None
            self.features.append(InvertedResidual(block, channels, norms, self._key(number), start, keys))
            channels = block.filters
        last = self._key(len(self.features))
        self.features.append(ConvNorm(LAST_EXPANSION * channels, 1, norms, "hard_silu", last, start=start))

    def _key(self, number: int) -> str:
        if not self.splits:
            return f"{self.name}.{number}"
        return f"{self.name}.0.{number}" if number < SPLIT else f"{self.name}.1.{number - SPLIT}"

    def _key_inside_split(self, part: int) -> str:
        return f"{self.name}.0.{SPLIT}" if part == 0 else f"{self.name}.1.0.{part}"

    def call(self, x: Tensor, training: bool | None = None) -> list[Tensor]:
        maps = {}
        for number, feature in enumerate(self.features):
            if self.splits and number == SPLIT:
                maps[number], x = feature(x, training=training)
                continue
            maps[number] = x = rematerialize(feature, x) if self.remat and training else feature(x, training=training)
        return [maps[number] for number in self.outputs_of]

    def freeze(self, trainable_backbone_layers: int) -> None:
        """The last so many of its six stages learn. A stage that does not learn uses the statistics it has, too."""
        stages = len(MOBILENET_STAGES)
        begins = MOBILENET_STAGES[stages - trainable_backbone_layers] if trainable_backbone_layers > 0 else len(self.features)
        for feature in self.features[:begins]:
            feature.trainable = False


def reduce_width(tail: Sequence[Block], divider: int) -> list[Block]:
    """The first of the tail keeps the channels that it widens to: they belong to the map before."""
    first, *others = tail
    narrowed = [first._replace(filters=first.filters // divider)]
    return narrowed + [
        each._replace(filters=each.filters // divider, expanded=each.expanded // divider) for each in others
    ]  # fmt: skip
