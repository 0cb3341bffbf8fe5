"""COCO's twelve figures and the average precision of each class, equal to those of pycocotools to the last digit.

Computed here rather than by pycocotools: it is a few times faster, needs no file in COCO's format, and keeps the curves.
The order of the images counts where two scores are the same: pycocotools takes them by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unstall.data.example import Floats
from unstall.report.progress import Progress
from unstall.training.coco_matching import AREAS, IOUS, MOST_DETECTIONS, Answer, Matched, Truth, matched

RECALLS = np.linspace(0.0, 1.0, 101)
FIGURES = (
    "AP", "AP50", "AP75", "AP_small", "AP_medium", "AP_large", "AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large",
)  # fmt: skip
NOTHING = -1.0  # of what there is none to find


@dataclass(frozen=True)
class Score:
    precision: Floats  # (IoUs, recalls, classes, areas, most detections), -1 where there is nothing to find
    recall: Floats  # (IoUs, classes, areas, most detections)
    objects: npt.NDArray[np.int64]  # (classes,) to be found

    def figures(self) -> dict[str, float]:
        """The twelve. -1 where there is nothing to find."""
        precision, recall = self.precision, self.recall
        values = [_mean(precision[..., 0, -1]), _mean(precision[[0], ..., 0, -1]), _mean(precision[[5], ..., 0, -1])]
        values += [_mean(precision[..., area, -1]) for area in (1, 2, 3)]
        values += [_mean(recall[..., 0, most]) for most in range(len(MOST_DETECTIONS))]
        values += [_mean(recall[..., area, -1]) for area in (1, 2, 3)]
        return dict(zip(FIGURES, values, strict=True))

    def of_class(self, number: int) -> dict[str, float]:
        own = self.precision[:, :, number, 0, -1]
        return {
            "AP": _mean(own),
            "AP50": _mean(own[0]),
            "AP75": _mean(own[5]),
            "AR_100": _mean(self.recall[:, number, 0, -1]),
        }

    def curve(self, number: int | None = None, iou: int = 0) -> Floats:
        """Precision at the 101 recalls, of one class or the mean of those there are; `iou` counts from 0.50 in steps of 0.05."""
        curves = self.precision[iou, :, :, 0, -1]
        if number is not None:
            return curves[:, number]
        there = curves[:, curves[0] > NOTHING]
        mean: Floats = there.mean(axis=1) if there.shape[1] else np.full(len(RECALLS), NOTHING)
        return mean


def score(truths: Sequence[Truth], answers: Sequence[Answer], classes: int, progress: Progress | None = None) -> Score:
    """Of images in the same order."""
    of_class: list[list[Matched]] = [[] for _ in range(classes)]
    for place, (truth, answer) in enumerate(zip(truths, answers, strict=True)):
        for number in np.union1d(truth.classes, answer.classes).tolist():
            if 0 <= number < classes:
                pair = matched(truth, answer, number)
                if pair is not None:
                    of_class[number].append(pair)
        if progress is not None:
            progress("scoring", place + 1, len(truths))
    shape = (len(IOUS), classes, len(AREAS), len(MOST_DETECTIONS))
    precision = np.full((shape[0], len(RECALLS), *shape[1:]), NOTHING)
    recall = np.full(shape, NOTHING)
    objects = np.zeros(classes, np.int64)
    for number, pairs in enumerate(of_class):
        if pairs:
            objects[number] = sum(int(pair.objects[0]) for pair in pairs)
            precision[:, :, number], recall[:, number] = _curves(pairs)
    return Score(precision, recall, objects)


def _curves(pairs: Sequence[Matched]) -> tuple[Floats, Floats]:
    """Of one class, over all images: (IoUs, recalls, areas, most) and (IoUs, areas, most)."""
    precision = np.full((len(IOUS), len(RECALLS), len(AREAS), len(MOST_DETECTIONS)), NOTHING)
    recall = np.full((len(IOUS), len(AREAS), len(MOST_DETECTIONS)), NOTHING)
    scores = np.concatenate([pair.scores for pair in pairs])
    rank = np.concatenate([np.arange(len(pair.scores)) for pair in pairs])
    is_right, is_ignored = (
        np.concatenate([getattr(pair, name) for pair in pairs], axis=2) for name in ("is_right", "is_ignored")
    )
    objects = np.sum([pair.objects for pair in pairs], axis=0)
    order = np.argsort(-scores, kind="stable")
    for most, limit in enumerate(MOST_DETECTIONS):
        shown = order[rank[order] < limit]
        for area in np.flatnonzero(objects).tolist():
            right = is_right[area][:, shown]
            wrong = ~right & ~is_ignored[area][:, shown]
            precision[:, :, area, most], recall[:, area, most] = _curve(right, wrong, int(objects[area]))
    return precision, recall


def _curve(right: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_], objects: int) -> tuple[Floats, Floats]:
    """(IoUs, recalls) and (IoUs,). Precision never rises with recall: of what lies to the right the best is taken."""
    count = right.shape[1]
    values = np.zeros((len(IOUS), len(RECALLS)))
    if not count:
        return values, np.zeros(len(IOUS))
    rights, wrongs = np.cumsum(right, axis=1, dtype=np.float64), np.cumsum(wrong, axis=1, dtype=np.float64)
    recall = rights / objects
    precision = rights / (wrongs + rights + np.spacing(1))
    precision = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    for level in range(len(IOUS)):
        places = np.searchsorted(recall[level], RECALLS, side="left")
        reached = places < count
        values[level, reached] = precision[level, places[reached]]
    return values, recall[:, -1]


def _mean(values: Floats) -> float:
    there = values[values > NOTHING]
    return float(np.mean(there)) if there.size else NOTHING
