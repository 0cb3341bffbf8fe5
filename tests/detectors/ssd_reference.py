"""What SSD does with outputs, written a second time: in NumPy, one image, one box and one class after the other, as one would say it."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def iou(a: Array, b: Array) -> Array:
    """(n, 4) and (m, 4) to (n, m)."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=-1)
    areas = [np.prod(each[:, 2:] - each[:, :2], axis=-1) for each in (a, b)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def matched(anchors: Array, boxes: Array, least: float) -> Array:
    """The box of each anchor, -1 for none."""
    if not len(boxes):
        return np.full(len(anchors), -1)
    overlap = iou(anchors, boxes)
    result = np.where(overlap.max(axis=1) >= least, overlap.argmax(axis=1), -1)
    for number in range(len(boxes)):
        result[overlap[:, number].argmax()] = number
    return result


def encoded(boxes: Array, anchors: Array) -> Array:
    (box_centre, box_side), (centre, side) = (
        ((each[:, :2] + each[:, 2:]) / 2, each[:, 2:] - each[:, :2]) for each in (boxes, anchors)
    )
    return np.concatenate([10 * (box_centre - centre) / side, 5 * np.log(box_side / side)], axis=1)


def decoded(codes: Array, anchors: Array) -> Array:
    centre, side = (anchors[:, :2] + anchors[:, 2:]) / 2, anchors[:, 2:] - anchors[:, :2]
    centre = centre + codes[:, :2] / 10 * side
    side = side * np.exp(np.minimum(codes[:, 2:] / 5, np.log(1000 / 16)))
    return np.concatenate([centre - side / 2, centre + side / 2], axis=1)


def softmax(logits: Array) -> Array:
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def hardest(wrong: Array, is_object: Array, per_object: float) -> Array:
    """The places of the background that counts, of one image."""
    background = np.flatnonzero(~is_object)
    order = background[np.argsort(-wrong[background], kind="stable")]
    return order[: int(per_object * is_object.sum())]


def losses(
    logits: Array, codes: Array, anchors: Array, targets: dict[str, Array], least: float, per_object: float
) -> dict[str, float]:
    class_sum = box_sum = objects = 0.0
    for image in range(len(logits)):
        mask = targets["mask"][image]
        boxes, classes = targets["boxes"][image][mask].astype(np.float64), targets["classes"][image][mask]
        box_of = matched(anchors, boxes, least)
        is_object = box_of >= 0
        label = np.zeros(len(anchors), int)
        label[is_object] = classes[box_of[is_object]] + 1
        wrong = -np.log(softmax(logits[image].astype(np.float64)))[np.arange(len(anchors)), label]
        class_sum += wrong[is_object].sum() + wrong[hardest(wrong, is_object, per_object)].sum()
        if is_object.any():
            distance = np.abs(codes[image][is_object] - encoded(boxes[box_of[is_object]], anchors[is_object]))
            box_sum += np.where(distance < 1, distance**2 / 2, distance - 0.5).sum()
        objects += is_object.sum()
    return {"class": class_sum / max(1, objects), "box": box_sum / max(1, objects)}


def suppressed(
    boxes: Array, scores: Array, nms_iou_threshold: float, pre_nms_top_k: int, most: int
) -> list[tuple[float, int, int]]:
    """(score, class, anchor) of one image's detections, the best first. A score of 0 is none."""
    found = []
    for number in range(scores.shape[1]):
        order = np.argsort(-scores[:, number], kind="stable")[:pre_nms_top_k]
        order = order[scores[order, number] > 0]
        overlap = iou(boxes[order], boxes[order])
        stays: list[int] = []
        for place in range(len(order)):
            if not (overlap[place, stays] > nms_iou_threshold).any():
                stays.append(place)
        found += [(float(scores[order[place], number]), number, int(order[place])) for place in stays]
    return sorted(found, reverse=True)[:most]
