"""Non-maximum suppression in tensors of fixed shape, the same as the greedy one to the last box.

Greedy suppression says: a box stays if no better box that stays overlaps it. From a first guess that all stay, asking this of all
boxes at once, again and again, settles the best box in the first round, and at least one more in each further one; after a few
rounds nothing changes, and what is left is what the greedy one leaves. Real images need 3 to 10 rounds, however many boxes
they have.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from unstall.backends.ops import find_fixed_point, top_k
from unstall.detectors.layers.boxes import Tensor, iou


class Detections(NamedTuple):
    """The best first; places that are not used have a score of 0 and class -1."""

    boxes: Tensor  # (batch, most, 4) in pixels of the input
    scores: Tensor  # (batch, most)
    classes: Tensor  # (batch, most) from 0, without background

    @property
    def is_used(self) -> Tensor:
        return self.classes >= 0


def compute_keep_mask(boxes: Tensor, scores: Tensor, group: Tensor | None, nms_iou_threshold: float) -> Tensor:
    """Which of the boxes (batch, n, 4), sorted by score, the best first, stay. Boxes of different groups do not touch each other;
    those with a score of 0 or less do not count."""
    counts = scores > 0
    count = boxes.shape[1]
    is_better = ops.arange(count)[:, None] > ops.arange(count)[None, :]  # the column's box, than the row's
    overlaps = (iou(boxes, boxes) > nms_iou_threshold) & is_better[None] & counts[:, None, :]
    if group is not None:
        overlaps = overlaps & (group[:, :, None] == group[:, None, :])
    return find_fixed_point(counts, overlaps)


def suppress(boxes: Tensor, scores: Tensor, classes: Tensor, nms_iou_threshold: float, most: int) -> Detections:
    """The `most` best that stay, suppressed class by class. Candidates (batch, n) in any order; a score of 0 or less is none."""
    scores, order = top_k(scores, scores.shape[1])
    boxes = ops.take_along_axis(boxes, order[..., None], axis=1)
    classes = ops.take_along_axis(classes, order, axis=1)
    scores = ops.where(compute_keep_mask(boxes, scores, classes, nms_iou_threshold), scores, 0.0)
    return select_best(boxes, scores, classes, most)


def select_best(boxes: Tensor, scores: Tensor, classes: Tensor, most: int) -> Detections:
    scores, order = top_k(scores, min(most, scores.shape[1]))
    boxes = ops.take_along_axis(boxes, order[..., None], axis=1)
    classes = ops.take_along_axis(classes, order, axis=1)
    is_used = scores > 0
    empty = Detections(
        ops.where(is_used[..., None], boxes, 0.0),
        ops.where(is_used, scores, 0.0),
        ops.where(is_used, ops.cast(classes, "int32"), -1),
    )
    missing = most - scores.shape[1]
    if missing <= 0:
        return empty
    return Detections(
        ops.pad(empty.boxes, ((0, 0), (0, missing), (0, 0))),
        ops.pad(empty.scores, ((0, 0), (0, missing))),
        ops.pad(empty.classes, ((0, 0), (0, missing)), constant_values=-1),
    )


# Suppression as SSD does it: of each class its own best candidates, and of all that stay the best. In tensors of fixed shape.
#
# Ninety classes with 400 candidates each would be compared in 14 million pairs. But a box is suppressed by better ones only:
# if of the best few candidates of all classes together as many stay as are asked for, no other can be among them. So these
# few are tried first, and all only where they do not decide. The result is the same, to the last box.


FIRST_FACTOR = 5  # times as many candidates as detections are tried first


def suppress_by_class(
    boxes: Tensor, scores: Tensor, nms_iou_threshold: float, pre_nms_top_k: int, most: int, first_factor: int = FIRST_FACTOR
) -> Detections:
    """(batch, n, 4) boxes and (batch, n, classes) scores, where 0 is none. Of each class `pre_nms_top_k` are looked at."""
    anchors, classes = scores.shape[1], scores.shape[2]
    tried = min(first_factor * most, anchors * classes)
    flat, anchor, of_class = _best_pairs(scores, tried)
    among = _at(boxes, anchor)
    counts = flat > 0
    if tried > pre_nms_top_k:
        counts = counts & (_rank_in_class(of_class) < pre_nms_top_k)
    stays = compute_keep_mask(among, ops.where(counts, flat, 0.0), of_class, nms_iou_threshold)
    found = select_best(among, ops.where(stays, flat, 0.0), of_class, most)
    if tried == anchors * classes:
        return found
    is_enough = ops.sum(ops.cast(stays, "int32"), axis=1) >= most
    is_all = flat[:, -1] <= 0
    everything = ops.cond(
        ops.all(is_enough | is_all),
        lambda: tuple(found),
        lambda: tuple(_by_each_class(boxes, scores, nms_iou_threshold, pre_nms_top_k, most)),
    )
    return Detections(*everything)


def _best_pairs(scores: Tensor, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """The best scores, their anchors and their classes. So many pairs belong to no more anchors than that, and to those with the
    best score in any class: these are chosen first, and only their classes are compared."""
    classes, anchors = scores.shape[2], min(count, scores.shape[1])
    _, chosen = ops.top_k(ops.max(scores, axis=2), anchors)
    of_chosen = ops.take_along_axis(scores, chosen[..., None], axis=1)
    flat, place = ops.top_k(ops.reshape(of_chosen, (-1, anchors * classes)), count)
    return flat, ops.take_along_axis(chosen, place // classes, axis=1), place % classes


def _by_each_class(boxes: Tensor, scores: Tensor, nms_iou_threshold: float, pre_nms_top_k: int, most: int) -> Detections:
    """One class after the other, so that memory does not grow with their number."""
    count = min(pre_nms_top_k, scores.shape[1])

    def of_one(of_class: Tensor) -> tuple[Tensor, Tensor]:
        own, place = ops.top_k(of_class, count)
        stays = compute_keep_mask(_at(boxes, place), own, ops.zeros_like(place), nms_iou_threshold)
        return ops.where(stays, own, 0.0), ops.cast(place, "int32")

    own, place = ops.map(of_one, ops.transpose(scores, (2, 0, 1)))
    own, place = (ops.reshape(ops.transpose(each, (1, 0, 2)), (-1, scores.shape[2] * count)) for each in (own, place))
    own, chosen = ops.top_k(own, min(most, own.shape[1]))
    place = ops.take_along_axis(place, chosen, axis=1)
    return select_best(_at(boxes, place), own, chosen // count, most)


def _rank_in_class(of_class: Tensor) -> Tensor:
    """How many before it are of its class; for candidates of which the best stand first."""
    same = of_class[:, :, None] == of_class[:, None, :]
    count = of_class.shape[1]
    is_before = ops.arange(count)[:, None] > ops.arange(count)[None, :]
    return ops.sum(ops.cast(same & is_before[None], "int32"), axis=2)


def _at(boxes: Tensor, place: Tensor) -> Tensor:
    return ops.take_along_axis(boxes, ops.cast(place, "int32")[..., None], axis=1)
