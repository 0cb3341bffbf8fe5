"""Boxes as (left, top, right, bottom) in pixels, with no pixel added to a side; every function takes leading batch dimensions."""

from __future__ import annotations

import math
from typing import Any

from keras import ops

Tensor = Any  # of whichever backend runs
LARGEST_GROWTH = math.log(1000 / 16)  # of a side: larger codes would overflow, and mean nothing
GIOU_EPSILON = 1e-7


def area(boxes: Tensor) -> Tensor:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def has_sides(boxes: Tensor, least: float) -> Tensor:
    """Whether both sides are at least so long."""
    return (boxes[..., 2] - boxes[..., 0] >= least) & (boxes[..., 3] - boxes[..., 1] >= least)


def iou(a: Tensor, b: Tensor) -> Tensor:
    """(…, n, 4) and (…, m, 4) to (…, n, m). Boxes of no area, such as padding, have an IoU of 0 with everything."""
    a, b = ops.expand_dims(a, -2), ops.expand_dims(b, -3)
    width = ops.minimum(a[..., 2], b[..., 2]) - ops.maximum(a[..., 0], b[..., 0])
    height = ops.minimum(a[..., 3], b[..., 3]) - ops.maximum(a[..., 1], b[..., 1])
    shared = ops.maximum(width, 0.0) * ops.maximum(height, 0.0)
    union = area(a) + area(b) - shared
    return ops.where(union > 0, shared / ops.where(union > 0, union, 1.0), 0.0)


def giou_loss(a: Tensor, b: Tensor) -> Tensor:
    """1 - GIoU of each box with the one in the same place. Finite for boxes of no area."""
    left, top = ops.maximum(a[..., 0], b[..., 0]), ops.maximum(a[..., 1], b[..., 1])
    right, bottom = ops.minimum(a[..., 2], b[..., 2]), ops.minimum(a[..., 3], b[..., 3])
    shared = ops.where((right > left) & (bottom > top), (right - left) * (bottom - top), 0.0)
    union = area(a) + area(b) - shared
    width = ops.maximum(a[..., 2], b[..., 2]) - ops.minimum(a[..., 0], b[..., 0])
    height = ops.maximum(a[..., 3], b[..., 3]) - ops.minimum(a[..., 1], b[..., 1])
    around = width * height
    return 1.0 - shared / (union + GIOU_EPSILON) + (around - union) / (around + GIOU_EPSILON)


def encode(boxes: Tensor, anchors: Tensor, weights: tuple[float, float, float, float]) -> Tensor:
    """What a detector is to predict for these boxes at these anchors. Boxes of no area are encoded as if one pixel wide: they are
    masked by whoever asks, and must not give a number that is not finite, as its gradient would spoil all others."""
    centre_x, centre_y, width, height = _centred(anchors)
    box_x, box_y, box_width, box_height = _centred(boxes)
    box_width, box_height = (ops.where(side > 0, side, 1.0) for side in (box_width, box_height))
    wx, wy, ww, wh = weights
    codes = [
        wx * (box_x - centre_x) / width,
        wy * (box_y - centre_y) / height,
        ww * ops.log(box_width / width),
        wh * ops.log(box_height / height),
    ]
    return ops.stack(codes, axis=-1)


def decode(codes: Tensor, anchors: Tensor, weights: tuple[float, float, float, float]) -> Tensor:
    codes = ops.cast(codes, "float32")
    centre_x, centre_y, width, height = _centred(anchors)
    wx, wy, ww, wh = weights
    box_x = codes[..., 0] / wx * width + centre_x
    box_y = codes[..., 1] / wy * height + centre_y
    half_width = ops.exp(ops.minimum(codes[..., 2] / ww, LARGEST_GROWTH)) * width * 0.5
    half_height = ops.exp(ops.minimum(codes[..., 3] / wh, LARGEST_GROWTH)) * height * 0.5
    return ops.stack([box_x - half_width, box_y - half_height, box_x + half_width, box_y + half_height], axis=-1)


def clip(boxes: Tensor, height: Tensor | float, width: Tensor | float) -> Tensor:
    """To the image. Height and width may be tensors that broadcast against boxes[..., 0]."""
    left, right = (ops.minimum(ops.maximum(boxes[..., side], 0.0), width) for side in (0, 2))
    top, bottom = (ops.minimum(ops.maximum(boxes[..., side], 0.0), height) for side in (1, 3))
    return ops.stack([left, top, right, bottom], axis=-1)


def extent(image_size: tuple[int, int], sizes: Tensor | None) -> tuple[Any, Any]:
    """Height and width that boxes are cut to: the input's, or each image's own."""
    if sizes is None:
        return float(image_size[0]), float(image_size[1])
    sizes = ops.cast(sizes, "float32")
    return sizes[:, 0][:, None], sizes[:, 1][:, None]


def _centred(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    boxes = ops.convert_to_tensor(boxes)  # an anchor is NumPy's; not every backend computes with one and a tensor of its own
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return boxes[..., 0] + 0.5 * width, boxes[..., 1] + 0.5 * height, width, height
