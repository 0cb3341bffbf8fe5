"""What is taken for what: a table of classes, with the background on both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from unstall.training.evaluate.coco_metrics import Answer, Truth, overlaps

MIN_SCORE = 0.3  # a detection below this is not counted: nobody would show it
MIN_IOU = 0.5


def confusion(
    truths: Sequence[Truth],
    answers: Sequence[Answer],
    classes: int,
    least_score: float = MIN_SCORE,
    min_iou: float = MIN_IOU,
) -> npt.NDArray[np.int64]:
    """(classes + 1, classes + 1): row what is there, column what was said; the last row is background that was taken for
    something, the last column what was not found. The best detections choose first, whatever their class; on a crowd none
    counts."""
    table = np.zeros((classes + 1, classes + 1), np.int64)
    for truth, answer in zip(truths, answers, strict=True):
        _count(table, truth, answer, classes, least_score, min_iou)
    return table


def _count(
    table: npt.NDArray[np.int64], truth: Truth, answer: Answer, background: int, least_score: float, min_iou: float
) -> None:
    shown = np.flatnonzero(answer.scores >= least_score)
    shown = shown[np.argsort(-answer.scores[shown], kind="stable")]
    iou = overlaps(answer.boxes[shown], truth.boxes, truth.crowd)
    is_free = ~truth.crowd
    for row, said in zip(iou, answer.classes[shown].tolist(), strict=True):
        own = np.where(is_free, row, -1.0)
        best = int(own.argmax()) if len(own) else -1
        if best >= 0 and own[best] >= min_iou:
            table[truth.classes[best], said] += 1
            is_free[best] = False
        elif not (row[truth.crowd] >= min_iou).any():
            table[background, said] += 1
    missed = truth.classes[is_free]
    table[:, background] += np.bincount(missed, minlength=background + 1)
