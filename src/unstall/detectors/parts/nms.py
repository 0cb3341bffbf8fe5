"""Non-maximum suppression in tensors of fixed shape, the same as the greedy one to the last box.

Greedy suppression says: a box stays if no better box that stays overlaps it. From a first guess that all stay, asking this of all
boxes at once, again and again, settles the best box in the first round, and at least one more in each further one; after a few
rounds nothing changes, and what is left is what the greedy one leaves. Real images need 3 to 10 rounds, however many boxes
they have.
"""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from unstall.backends.ranking import top_k
from unstall.backends.settling import settled
from unstall.detectors.parts.boxes import Tensor, iou


class Detections(NamedTuple):
    """The best first; places that are not used have a score of 0 and class -1."""

    boxes: Tensor  # (batch, most, 4) in pixels of the input
    scores: Tensor  # (batch, most)
    classes: Tensor  # (batch, most) from 0, without background

    @property
    def is_used(self) -> Tensor:
        return self.classes >= 0


def kept(boxes: Tensor, scores: Tensor, group: Tensor | None, most_iou: float) -> Tensor:
    """Which of the boxes (batch, n, 4), sorted by score, the best first, stay. Boxes of different groups do not touch each other;
    those with a score of 0 or less do not count."""
    counts = scores > 0
    count = boxes.shape[1]
    is_better = ops.arange(count)[:, None] > ops.arange(count)[None, :]  # the column's box, than the row's
    overlaps = (iou(boxes, boxes) > most_iou) & is_better[None] & counts[:, None, :]
    if group is not None:
        overlaps = overlaps & (group[:, :, None] == group[:, None, :])
    return settled(counts, overlaps)


def suppressed(boxes: Tensor, scores: Tensor, classes: Tensor, most_iou: float, most: int) -> Detections:
    """The `most` best that stay, suppressed class by class. Candidates (batch, n) in any order; a score of 0 or less is none."""
    scores, order = top_k(scores, scores.shape[1])
    boxes = ops.take_along_axis(boxes, order[..., None], axis=1)
    classes = ops.take_along_axis(classes, order, axis=1)
    scores = ops.where(kept(boxes, scores, classes, most_iou), scores, 0.0)
    return best(boxes, scores, classes, most)


def best(boxes: Tensor, scores: Tensor, classes: Tensor, most: int) -> Detections:
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
