"""COCO's twelve figures and the average precision of each class, equal to those of pycocotools to the last digit.

Computed here rather than by pycocotools: it is a few times faster, needs no file in COCO's format, and keeps the curves.
The order of the images counts where two scores are the same: pycocotools takes them by number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from unstall.base.console import Progress
from unstall.data.example import Flags, Floats, Integers

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
        values += [_mean(recall[..., 0, most]) for most in range(len(MAX_DETECTIONS))]
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


def score(
    ground_truths: Sequence[GroundTruth], predictions: Sequence[Predictions], classes: int, progress: Progress | None = None
) -> Score:
    """Of images in the same order."""
    of_class: list[list[MatchResult]] = [[] for _ in range(classes)]
    for place, (ground_truth, prediction) in enumerate(zip(ground_truths, predictions, strict=True)):
        for number in np.union1d(ground_truth.classes, prediction.classes).tolist():
            if 0 <= number < classes:
                pair = match_class(ground_truth, prediction, number)
                if pair is not None:
                    of_class[number].append(pair)
        if progress is not None:
            progress("scoring", place + 1, len(ground_truths))
    shape = (len(IOUS), classes, len(AREAS), len(MAX_DETECTIONS))
    precision = np.full((shape[0], len(RECALLS), *shape[1:]), NOTHING)
    recall = np.full(shape, NOTHING)
    objects = np.zeros(classes, np.int64)
    for number, pairs in enumerate(of_class):
        if pairs:
            objects[number] = sum(int(pair.objects[0]) for pair in pairs)
            precision[:, :, number], recall[:, number] = _curves(pairs)
    return Score(precision, recall, objects)


def _curves(pairs: Sequence[MatchResult]) -> tuple[Floats, Floats]:
    """Of one class, over all images: (IoUs, recalls, areas, most) and (IoUs, areas, most)."""
    precision = np.full((len(IOUS), len(RECALLS), len(AREAS), len(MAX_DETECTIONS)), NOTHING)
    recall = np.full((len(IOUS), len(AREAS), len(MAX_DETECTIONS)), NOTHING)
    scores = np.concatenate([pair.scores for pair in pairs])
    rank = np.concatenate([np.arange(len(pair.scores)) for pair in pairs])
    is_right, is_ignored = (
        np.concatenate([getattr(pair, name) for pair in pairs], axis=2) for name in ("is_right", "is_ignored")
    )
    objects = np.sum([pair.objects for pair in pairs], axis=0)
    order = np.argsort(-scores, kind="stable")
    for most, limit in enumerate(MAX_DETECTIONS):
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


# Which detections are right, by COCO's rules: image by image and class by class, at ten IoUs and four ranges of area at once.
#
# The arithmetic is that of pycocotools, operation by operation: an IoU that lies on a threshold falls on the same side of it.


IOUS = np.linspace(0.5, 0.95, 10)
AREAS = {"all": (0.0, 1e10), "small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}
MAX_DETECTIONS = (1, 10, 100)  # of a class in an image
_LOW, _HIGH = (np.array(ends)[:, None] for ends in zip(*AREAS.values(), strict=True))
_NEARLY_ONE = 1 - 1e-10


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """What is in an image. Boxes are left, top, width and height, as COCO has them."""

    boxes: Floats  # (n, 4)
    classes: Integers
    crowd: Flags
    areas: Floats  # of the object, which may be less than that of its box


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a detector found in it."""

    boxes: Floats  # (n, 4)
    classes: Integers
    scores: Floats


@dataclass(frozen=True, slots=True)
class MatchResult:
    """One class in one image. The detections are sorted, the best first; (areas, IoUs, detections) of each."""

    scores: Floats
    is_right: Flags
    is_ignored: Flags  # neither right nor wrong: it lies on a crowd, or is of another range of area
    objects: Integers  # (areas,) that are to be found


def match_class(ground_truth: GroundTruth, prediction: Predictions, number: int) -> MatchResult | None:
    """None where the class is neither there nor found."""
    here, found = np.flatnonzero(ground_truth.classes == number), np.flatnonzero(prediction.classes == number)
    if not len(here) and not len(found):
        return None
    found = found[np.argsort(-prediction.scores[found], kind="stable")][: MAX_DETECTIONS[-1]]
    crowd, areas = ground_truth.crowd[here], ground_truth.areas[here]
    is_beside = crowd | (areas < _LOW) | (areas > _HIGH)  # (areas, objects)
    boxes = prediction.boxes[found]
    is_found, on_ignored = _assigned(compute_overlaps(boxes, ground_truth.boxes[here], crowd), crowd, is_beside)
    surface = boxes[:, 2] * boxes[:, 3]
    is_other_size = (surface < _LOW) | (surface > _HIGH)
    is_ignored = np.where(is_found, on_ignored, is_other_size[:, None, :])
    return MatchResult(prediction.scores[found], is_found & ~is_ignored, is_ignored, (~is_beside).sum(axis=1).astype(np.int32))


def compute_overlaps(found: Floats, here: Floats, crowd: Flags) -> Floats:
    """(detections, objects). With a crowd: the share of the detection that lies on it."""
    a, b = found[:, None, :], here[None, :, :]
    width = np.minimum(a[..., 2] + a[..., 0], b[..., 2] + b[..., 0]) - np.maximum(a[..., 0], b[..., 0])
    height = np.minimum(a[..., 3] + a[..., 1], b[..., 3] + b[..., 1]) - np.maximum(a[..., 1], b[..., 1])
    shared = width * height
    own = a[..., 2] * a[..., 3]
    union = np.where(crowd, own, own + b[..., 2] * b[..., 3] - shared)
    is_over = (width > 0) & (height > 0)
    result: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=is_over)
    return result


def _assigned(iou: Floats, crowd: Flags, is_beside: Flags) -> tuple[Flags, Flags]:
    """Each detection in turn takes the object that it overlaps most and that nobody took: (areas, IoUs, detections) whether it
    took one, and whether that one is ignored. What is to be found is preferred to what is ignored; of two alike the later one is
    taken."""
    detections, objects = iou.shape
    shape = (len(AREAS), len(IOUS), detections)
    is_found, on_ignored = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    reaches = iou[:, None, :] >= np.minimum(IOUS, _NEARLY_ONE)[:, None]  # (detections, IoUs, objects)
    is_free = np.ones((len(AREAS), len(IOUS), objects), np.bool_)
    wanted = ~is_beside[:, None, :]
    for each in np.flatnonzero(reaches.any(axis=(1, 2))).tolist():
        possible = reaches[each] & (is_free | crowd)
        first = possible & wanted
        any_first = first.any(axis=2)
        chosen_from = np.where(any_first[..., None], first, possible)
        any_chosen = chosen_from.any(axis=2)
        worth = np.where(chosen_from, iou[each], -1.0)
        chosen = objects - 1 - worth[..., ::-1].argmax(axis=2)
        is_found[..., each], on_ignored[..., each] = any_chosen, any_chosen & ~any_first
        range_, level = np.nonzero(any_chosen)
        is_free[range_, level, chosen[range_, level]] = False
    return is_found, on_ignored


# The confusion matrix: what is taken for what.


MIN_SCORE = 0.3  # a detection below this is not counted: nobody would show it
MIN_IOU = 0.5


def compute_confusion(
    ground_truths: Sequence[GroundTruth],
    predictions: Sequence[Predictions],
    classes: int,
    score_threshold: float = MIN_SCORE,
    iou_threshold: float = MIN_IOU,
) -> npt.NDArray[np.int64]:
    """(classes + 1, classes + 1): row what is there, column what was said; the last row is background that was taken for
    something, the last column what was not found. The best detections choose first, whatever their class; on a crowd none
    counts."""
    table = np.zeros((classes + 1, classes + 1), np.int64)
    for ground_truth, prediction in zip(ground_truths, predictions, strict=True):
        _count(table, ground_truth, prediction, classes, score_threshold, iou_threshold)
    return table


def _count(
    table: npt.NDArray[np.int64],
    ground_truth: GroundTruth,
    prediction: Predictions,
    background: int,
    score_threshold: float,
    iou_threshold: float,
) -> None:
    shown = np.flatnonzero(prediction.scores >= score_threshold)
    shown = shown[np.argsort(-prediction.scores[shown], kind="stable")]
    iou = compute_overlaps(prediction.boxes[shown], ground_truth.boxes, ground_truth.crowd)
    is_free = ~ground_truth.crowd
    for row, said in zip(iou, prediction.classes[shown].tolist(), strict=True):
        own = np.where(is_free, row, -1.0)
        best = int(own.argmax()) if len(own) else -1
        if best >= 0 and own[best] >= iou_threshold:
            table[ground_truth.classes[best], said] += 1
            is_free[best] = False
        elif not (row[ground_truth.crowd] >= iou_threshold).any():
            table[background, said] += 1
    missed = ground_truth.classes[is_free]
    table[:, background] += np.bincount(missed, minlength=background + 1)
