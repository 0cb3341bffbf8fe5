"""Which box each anchor is to learn. Padded boxes match nothing; an image with no box has background everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keras import ops

from unstall.backends.devices import is_compiled_for_card
from unstall.backends.ops import add_optimization_barrier
from unstall.detectors.layers.boxes import Tensor, iou

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
