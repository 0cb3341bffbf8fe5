"""The regions that the first stage of a detector proposes to the second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras import ops

from unstall.backends.ranking import top_k
from unstall.detectors.parts import boxes as box
from unstall.detectors.parts.anchors import Anchors
from unstall.detectors.parts.boxes import Tensor
from unstall.detectors.parts.nms import kept
from unstall.detectors.parts.sampling import at

CODE_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
LEAST_SIDE_PX = 1e-3
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
    most_per_level: int,
    most: int,
    most_iou: float,
    least_score: float,
) -> Proposals:
    """From logits (batch, anchors) and codes (batch, anchors, 4) of each level. Nothing learns through it: no gradient passes.

    Of each level the best are cut to the image's extent (height, width) and suppressed among themselves; of what stays the
    `most` best. All levels are suppressed at once, as if they were images of one batch: the shorter ones are filled up.
    """
    levels = [
        _best_of_level(ops.stop_gradient(level_logits), ops.stop_gradient(level_codes), level_anchors, extent, most_per_level)
        for level_logits, level_codes, level_anchors in zip(logits, codes, anchors, strict=True)
    ]
    longest = max(level_logits.shape[1] for _, level_logits in levels)
    boxes = ops.stack([_filled(level_boxes, longest, 0.0) for level_boxes, _ in levels], axis=1)
    rank = ops.stack([_filled(level_logits, longest, NEVER) for _, level_logits in levels], axis=1)
    counts = (rank > NEVER) & (ops.sigmoid(rank) >= least_score)
    together = (-1, longest)
    stays = kept(ops.reshape(boxes, (*together, 4)), ops.reshape(ops.cast(counts, "float32"), together), None, most_iou)
    total = len(levels) * longest
    rank = ops.where(ops.reshape(stays, (-1, total)), ops.reshape(rank, (-1, total)), NEVER)
    rank, place = top_k(rank, min(most, total))
    is_used = rank > NEVER
    return Proposals(ops.where(is_used[..., None], at(ops.reshape(boxes, (-1, total, 4)), place), 0.0), is_used)


def _best_of_level(logits: Tensor, codes: Tensor, anchors: Anchors, extent: tuple[Any, Any], most: int) -> tuple[Tensor, Tensor]:
    """By logit, as probabilities near 1 cannot be told apart. A box that is nearly nothing inside the image is none."""
    logits, place = top_k(ops.cast(logits, "float32"), min(most, logits.shape[1]))
    own_anchors = ops.take(ops.convert_to_tensor(anchors), place, axis=0)
    boxes = box.clip(box.decode(at(codes, place), own_anchors, CODE_WEIGHTS), *extent)
    return boxes, ops.where(box.has_sides(boxes, LEAST_SIDE_PX), logits, NEVER)


def _filled(values: Tensor, length: int, filling: float) -> Tensor:
    missing = length - values.shape[1]
    shape = [(0, 0), (0, missing)] + [(0, 0)] * (len(values.shape) - 2)
    return ops.pad(values, shape, constant_values=filling) if missing else values
