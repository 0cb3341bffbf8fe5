"""Which detections are right, by COCO's rules: image by image and class by class, at ten IoUs and four ranges of area at once.

The arithmetic is that of pycocotools, operation by operation: an IoU that lies on a threshold falls on the same side of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstall.data.example import Flags, Floats, Integers

IOUS = np.linspace(0.5, 0.95, 10)
AREAS = {"all": (0.0, 1e10), "small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}
MOST_DETECTIONS = (1, 10, 100)  # of a class in an image
_LOW, _HIGH = (np.array(ends)[:, None] for ends in zip(*AREAS.values(), strict=True))
_NEARLY_ONE = 1 - 1e-10


@dataclass(frozen=True, slots=True)
class Truth:
    """What is in an image. Boxes are left, top, width and height, as COCO has them."""

    boxes: Floats  # (n, 4)
    classes: Integers
    crowd: Flags
    areas: Floats  # of the object, which may be less than that of its box


@dataclass(frozen=True, slots=True)
class Answer:
    """What a detector found in it."""

    boxes: Floats  # (n, 4)
    classes: Integers
    scores: Floats


@dataclass(frozen=True, slots=True)
class Matched:
    """One class in one image. The detections are sorted, the best first; (areas, IoUs, detections) of each."""

    scores: Floats
    is_right: Flags
    is_ignored: Flags  # neither right nor wrong: it lies on a crowd, or is of another range of area
    objects: Integers  # (areas,) that are to be found


def matched(truth: Truth, answer: Answer, number: int) -> Matched | None:
    """None where the class is neither there nor found."""
    here, found = np.flatnonzero(truth.classes == number), np.flatnonzero(answer.classes == number)
    if not len(here) and not len(found):
        return None
    found = found[np.argsort(-answer.scores[found], kind="stable")][: MOST_DETECTIONS[-1]]
    crowd, areas = truth.crowd[here], truth.areas[here]
    is_beside = crowd | (areas < _LOW) | (areas > _HIGH)  # (areas, objects)
    boxes = answer.boxes[found]
    is_found, on_ignored = _assigned(overlaps(boxes, truth.boxes[here], crowd), crowd, is_beside)
    surface = boxes[:, 2] * boxes[:, 3]
    is_other_size = (surface < _LOW) | (surface > _HIGH)
    is_ignored = np.where(is_found, on_ignored, is_other_size[:, None, :])
    return Matched(answer.scores[found], is_found & ~is_ignored, is_ignored, (~is_beside).sum(axis=1).astype(np.int32))


def overlaps(found: Floats, here: Floats, crowd: Flags) -> Floats:
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
