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
    score_threshold: float = MIN_SCORE,
    iou_threshold: float = MIN_IOU,
) -> npt.NDArray[np.int64]:
    """(classes + 1, classes + 1): row what is there, column what was said; the last row is background that was taken for
    something, the last column what was not found. The best detections choose first, whatever their class; on a crowd none
    counts."""
    table = np.zeros((classes + 1, classes + 1), np.int64)
    for truth, answer in zip(truths, answers, strict=True):
        _count(table, truth, answer, classes, score_threshold, iou_threshold)
    return table


def _count(
    table: npt.NDArray[np.int64], truth: Truth, answer: Answer, background: int, score_threshold: float, iou_threshold: float
) -> None:
    shown = np.flatnonzero(answer.scores >= score_threshold)
    shown = shown[np.argsort(-answer.scores[shown], kind="stable")]
    iou = overlaps(answer.boxes[shown], truth.boxes, truth.crowd)
    is_free = ~truth.crowd
    for row, said in zip(iou, answer.classes[shown].tolist(), strict=True):
        own = np.where(is_free, row, -1.0)
        best = int(own.argmax()) if len(own) else -1
        if best >= 0 and own[best] >= iou_threshold:
            table[truth.classes[best], said] += 1
            is_free[best] = False
        elif not (row[truth.crowd] >= iou_threshold).any():
            table[background, said] += 1
    missed = truth.classes[is_free]
    table[:, background] += np.bincount(missed, minlength=background + 1)
