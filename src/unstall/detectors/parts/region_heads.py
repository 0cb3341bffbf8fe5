"""The heads of a detector of two stages: one over the pyramid's maps, which says where to look, and one over the regions."""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from unstall.detectors.parts.boxes import Tensor
from unstall.detectors.parts.layers import BatchNorm, Conv, Keyed
from unstall.detectors.parts.resnet import Norms
from unstall.detectors.parts.starts import he_normal, normal, scaled

SPREAD = 0.01  # of the proposer's first weights


class RegionProposer(keras.layers.Layer):  # type: ignore[misc]
    """The same convolutions for every level; for each anchor a logit that there is an object, and the codes of its box."""

    def __init__(self, channels: int, convs: int, anchors_per_cell: int, name: str = "rpn.head") -> None:
        super().__init__(name=name)

        def conv(filters: int, size: int, key: str) -> Conv:
            return Conv(filters, size, kernel_initializer=normal(SPREAD), name=f"{name}.{key}")

        self.convs = [conv(channels, 3, f"conv.{number}.0") for number in range(convs)]
        self.logits = conv(anchors_per_cell, 1, "cls_logits")
        self.codes = conv(anchors_per_cell * 4, 1, "bbox_pred")

    def call(self, levels: Sequence[Tensor]) -> dict[str, list[Tensor]]:
        """(batch, anchors) and (batch, anchors, 4) of each level."""
        objects, codes = [], []
        for level in levels:
            x = level
            for conv in self.convs:
                x = ops.relu(conv(x))
            anchors = level.shape[1] * level.shape[2] * self.logits.filters
            objects.append(ops.reshape(self.logits(x), (-1, anchors)))
            codes.append(ops.reshape(self.codes(x), (-1, anchors, 4)))
        return {"objects": objects, "anchor_codes": codes}


class Dense(Keyed, keras.layers.Dense):  # type: ignore[misc]
    """`flattened_from` is the shape that its inputs had before they were put in a row. Published weights have them in the order
    channel, row, column; here they come in the order row, column, channel."""

    def __init__(self, units: int, name: str, flattened_from: tuple[int, int, int] | None = None) -> None:
        super().__init__(units, kernel_initializer=scaled(1 / 3, "in", is_uniform=True), name=name)
        self.flattened_from = flattened_from


class RegionHead(keras.layers.Layer):  # type: ignore[misc]
    """Regions (batch, n, cells, cells, channels) to class logits and, for each class by itself, the codes of a box.

    Without convolutions two layers of `units`; with them, each has a norm, and one layer of `units` follows.
    """

    def __init__(
        self, cells: int, channels: int, convs: int, units: int, outputs: int, norms: Norms, name: str = "roi_heads"
    ) -> None:  # fmt: skip
        super().__init__(name=name)
        head = f"{name}.box_head"
        self.convs = [
            Conv(channels, 3, use_bias=False, kernel_initializer=he_normal(), name=f"{head}.{number}.0")
            for number in range(convs)
        ]
        self.norms: list[BatchNorm] = [norms.make(f"{head}.{number}.1") for number in range(convs)]
        keys = [f"{head}.{convs + 1}"] if convs else [f"{head}.fc6", f"{head}.fc7"]
        self.hidden = [Dense(units, keys[0], (cells, cells, channels)), *(Dense(units, key) for key in keys[1:])]
        self.classes = Dense(outputs, f"{name}.box_predictor.cls_score")
        self.codes = Dense(outputs * 4, f"{name}.box_predictor.bbox_pred")

    def call(self, regions: Tensor, training: bool | None = None, is_used: Tensor | None = None) -> dict[str, Tensor]:
        """Norms that learn take their statistics from the regions that are used alone."""
        _, count, cells, _, channels = regions.shape
        x = ops.reshape(regions, (-1, cells, cells, channels))
        counts = ops.reshape(is_used, (-1,)) if training and is_used is not None else None
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = ops.relu(norm(conv(x), training=training, counts=counts))
        x = ops.reshape(x, (-1, cells * cells * channels))
        for layer in self.hidden:
            x = ops.relu(layer(x))
        classes, codes = self.classes(x), self.codes(x)
        return {
            "classes": ops.reshape(classes, (-1, count, classes.shape[-1])),
            "boxes": ops.reshape(codes, (-1, count, codes.shape[-1])),
        }
