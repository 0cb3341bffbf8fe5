"""The regions that the first stage of a detector proposes to the second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from keras import ops

from unstall.detectors.parts import boxes as box
from unstall.detectors.parts.anchors import Anchors
from unstall.detectors.parts.boxes import Tensor
from unstall.detectors.parts.nms import kept
from unstall.detectors.parts.sampling import at

CODE_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
LEAST_SIDE_PX = 1e-3
FAINTEST = 1e-30  # a probability that float32 rounds to 0 is still a proposal's


class Proposals(NamedTuple):
    """The likeliest first."""

    boxes: Tensor  # (batch, most, 4)
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
    longest = max(scores.shape[1] for _, scores in levels)
    boxes = ops.stack([_filled(boxes, longest) for boxes, _ in levels], axis=1)
    scores = ops.stack([_filled(scores, longest) for _, scores in levels], axis=1)
    scores = ops.where(scores >= max(least_score, FAINTEST), scores, 0.0)
    stays = kept(ops.reshape(boxes, (-1, longest, 4)), ops.reshape(scores, (-1, longest)), None, most_iou)
    scores = ops.where(ops.reshape(stays, (-1, len(levels), longest)), scores, 0.0)
    scores = ops.reshape(scores, (-1, len(levels) * longest))
    scores, place = ops.top_k(scores, min(most, len(levels) * longest))
    return Proposals(at(ops.reshape(boxes, (-1, len(levels) * longest, 4)), place), scores > 0)


def _best_of_level(logits: Tensor, codes: Tensor, anchors: Anchors, extent: tuple[Any, Any], most: int) -> tuple[Tensor, Tensor]:
    """By logit, as probabilities near 1 cannot be told apart. A box that is nearly nothing inside the image has no score."""
    logits, place = ops.top_k(ops.cast(logits, "float32"), min(most, logits.shape[1]))
    own_anchors = ops.take(ops.convert_to_tensor(anchors), place, axis=0)
    boxes = box.clip(box.decode(at(codes, place), own_anchors, CODE_WEIGHTS), *extent)
    scores = ops.maximum(ops.sigmoid(logits), FAINTEST)
    return boxes, ops.where(box.has_sides(boxes, LEAST_SIDE_PX), scores, 0.0)


def _filled(values: Tensor, length: int) -> Tensor:
    missing = length - values.shape[1]
    return ops.pad(values, [(0, 0), (0, missing)] + [(0, 0)] * (len(values.shape) - 2)) if missing else values
