"""Boxes as (left, top, right, bottom) in pixels, with no pixel added to a side; every function takes leading batch dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from unstall.backends.devices import is_compiled_for_card
from unstall.backends.ops import add_optimization_barrier

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


# Which box each anchor is to learn. Padded boxes match nothing; an image with no box has background everywhere.


TIE = 3e-7  # of an overlap: nearer than this they are equal


class Matches(NamedTuple):
    box: Tensor  # (batch, anchors) index of the box; some valid index where there is none
    is_object: Tensor  # (batch, anchors) learns that box
    is_background: Tensor  # (batch, anchors) learns that there is nothing; neither: it is left out


class Overlap(NamedTuple):
    """IoU of anchors and boxes, and the same of boxes and anchors. On a card each call computes it anew, into what is made of it.

    It is looked through four times: all of a box before those of an anchor, for the best of each. Kept for that, it is among the
    largest numbers of a step: 16 images, 76,725 anchors and 100 boxes are half a gigabyte.
    """

    of_anchors: Callable[[], Tensor]  # (batch, anchors, boxes)
    of_boxes: Callable[[], Tensor]  # (batch, boxes, anchors)


def compute_overlaps(anchors: Tensor, boxes: Tensor) -> Overlap:
    if is_compiled_for_card():
        return Overlap(
            lambda: iou(anchors, add_optimization_barrier(boxes)), lambda: iou(add_optimization_barrier(boxes), anchors)
        )
    kept = iou(anchors, boxes)
    return Overlap(lambda: kept, lambda: ops.swapaxes(kept, -1, -2))


def match(overlap: Overlap, mask: Tensor, foreground: float, background: float, low_quality: bool) -> Matches:
    """By IoU: from `foreground` on an object, below `background` none, left out between.

    With `low_quality` the anchors that overlap a box best are objects too, however little that is, ties included; each then
    learns the box that it overlaps best itself, which need not be the one that it was taken for. (So the published detectors do.)
    """
    best, box = _best(overlap, mask)
    is_object, is_background = best >= foreground, best < background
    if low_quality:
        # A compiler may compute an overlap twice and round it in two ways: what is compared must not hang on the last bit.
        # A box that overlaps no anchor at all (it has no area, or lies outside) would else take every anchor.
        best_of_box = ops.max(ops.where(mask[:, :, None], overlap.of_boxes(), -1.0), axis=2)[:, None, :]
        is_best = (overlap.of_anchors() >= best_of_box * (1 - TIE)) & (best_of_box > 0)
        taken = ops.any(is_best, axis=2)
        is_object, is_background = is_object | taken, is_background & ~taken
    return Matches(box, is_object, is_background)


def _best(overlap: Overlap, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(batch, anchors) how much an anchor overlaps the box that it overlaps most, and which that is."""
    is_box = mask[:, None, :]
    best = ops.max(ops.where(is_box, overlap.of_anchors(), -1.0), axis=2)
    return best, ops.argmax(ops.where(is_box, overlap.of_anchors(), -1.0), axis=2)


def match_default_boxes(overlap: Overlap, mask: Tensor, foreground: float) -> Matches:
    """SSD's: from `foreground` on an object; and the best anchor of each box learns that box, of two boxes the later."""
    best, box = _best(overlap, mask)
    anchors, boxes = best.shape[1], mask.shape[1]
    chosen = ops.argmax(overlap.of_boxes(), axis=2)  # (batch, boxes)
    claims = (chosen[:, None, :] == ops.arange(anchors, dtype=chosen.dtype)[None, :, None]) & mask[:, None, :]
    later = ops.max(ops.where(claims, ops.arange(boxes, dtype="int32")[None, None, :], -1), axis=2)
    is_object = (best >= foreground) | (later >= 0)
    return Matches(ops.where(later >= 0, later, ops.cast(box, "int32")), is_object, ~is_object)


def gather_matched(values: Tensor, matches: Matches) -> Tensor:
    """(batch, boxes, …) to (batch, anchors, …): each anchor's own box, class or flag."""
    index = ops.cast(matches.box, "int32")
    if len(values.shape) == 3:
        return ops.take_along_axis(values, index[..., None], axis=1)
    return ops.take_along_axis(values, index, axis=1)
