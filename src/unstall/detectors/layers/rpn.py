"""The heads of a detector of two stages: one over the pyramid's maps, which says where to look, and one over the regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
from keras import ops

from unstall.backends.ops import top_k
from unstall.data.anchors import Anchors
from unstall.detectors.layers import boxes as box_ops
from unstall.detectors.layers.boxes import Tensor
from unstall.detectors.layers.conv_norm import BatchNorm, Conv, KeyedLayer
from unstall.detectors.layers.initializers import he_normal, normal, variance_scaling
from unstall.detectors.layers.nms import compute_keep_mask
from unstall.detectors.layers.resnet import Norms
from unstall.detectors.layers.rng import gather_at

SPREAD = 0.01  # of the proposer's first weights


class RPNHead(keras.layers.Layer):  # type: ignore[misc]
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


class Dense(KeyedLayer, keras.layers.Dense):  # type: ignore[misc]
    """`flattened_from` is the shape that its inputs had before they were put in a row. Published weights have them in the order
    channel, row, column; here they come in the order row, column, channel."""

    def __init__(self, units: int, name: str, flattened_from: tuple[int, int, int] | None = None) -> None:
        super().__init__(units, kernel_initializer=variance_scaling(1 / 3, "in", is_uniform=True), name=name)
        self.flattened_from = flattened_from


class BoxHead(keras.layers.Layer):  # type: ignore[misc]
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


# The regions that the first stage of a detector proposes to the second.


CODE_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
MIN_SIDE_PX = 1e-3
NEVER = -3e38  # a logit that none has


class Proposals(NamedTuple):
    """The likeliest first."""

    boxes: Tensor  # (batch, most, 4), zeros where there is none
    is_used: Tensor  # (batch, most) false: there were not as many


def propose(
    logits: Sequence[Tensor],
    codes: Sequence[Tensor],
    anchors: Sequence[Anchors],
    extent: tuple[Any, Any],
    *,
    rpn_pre_nms_top_n: int,
    most: int,
    nms_iou_threshold: float,
    score_threshold: float,
) -> Proposals:
    """From logits (batch, anchors) and codes (batch, anchors, 4) of each level. Nothing learns through it: no gradient passes.

    Of each level the best are cut to the image's extent (height, width) and suppressed among themselves; of what stays the
    `most` best. All levels are suppressed at once, as if they were images of one batch: the shorter ones are filled up.
    """
    levels = [
        _best_of_level(ops.stop_gradient(level_logits), ops.stop_gradient(level_codes), level_anchors, extent, rpn_pre_nms_top_n)
        for level_logits, level_codes, level_anchors in zip(logits, codes, anchors, strict=True)
    ]
    longest = max(level_logits.shape[1] for _, level_logits in levels)
    boxes = ops.stack([_filled(level_boxes, longest, 0.0) for level_boxes, _ in levels], axis=1)
    rank = ops.stack([_filled(level_logits, longest, NEVER) for _, level_logits in levels], axis=1)
    counts = (rank > NEVER) & (ops.sigmoid(rank) >= score_threshold)
    together = (-1, longest)
    ranked = ops.reshape(ops.cast(counts, "float32"), together)
    stays = compute_keep_mask(ops.reshape(boxes, (*together, 4)), ranked, None, nms_iou_threshold)
    total = len(levels) * longest
    rank = ops.where(ops.reshape(stays, (-1, total)), ops.reshape(rank, (-1, total)), NEVER)
    rank, place = top_k(rank, min(most, total))
    is_used = rank > NEVER
    return Proposals(ops.where(is_used[..., None], gather_at(ops.reshape(boxes, (-1, total, 4)), place), 0.0), is_used)


def _best_of_level(logits: Tensor, codes: Tensor, anchors: Anchors, extent: tuple[Any, Any], most: int) -> tuple[Tensor, Tensor]:
    """By logit, as probabilities near 1 cannot be told apart. A box that is nearly nothing inside the image is none."""
    logits, place = top_k(ops.cast(logits, "float32"), min(most, logits.shape[1]))
    own_anchors = ops.take(ops.convert_to_tensor(anchors), place, axis=0)
    boxes = box_ops.clip(box_ops.decode(gather_at(codes, place), own_anchors, CODE_WEIGHTS), *extent)
    return boxes, ops.where(box_ops.has_sides(boxes, MIN_SIDE_PX), logits, NEVER)


def _filled(values: Tensor, length: int, filling: float) -> Tensor:
    missing = length - values.shape[1]
    shape = [(0, 0), (0, missing)] + [(0, 0)] * (len(values.shape) - 2)
    return ops.pad(values, shape, constant_values=filling) if missing else values
