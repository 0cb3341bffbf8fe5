"""What SSD must do, on whichever backend runs: each function is one check. Run all in one process, as a backend takes seconds to load:

KERAS_BACKEND=jax python -m tests.detectors.ssd_checks

prints a line of JSON: the name of each check, and what went wrong or nothing. `test_ssd.py` reads it.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.detectors import ssd_reference as reference

PX = (96, 128)
SMALL = {"image_px": PX, "width": 4, "convs": (1, 1, 1, 1, 1), "classes": 5}
TOLERANCE = 2e-4


def numbers(tensor: Any) -> np.ndarray:
    from keras import ops

    return np.asarray(ops.convert_to_numpy(tensor))


def small(**changes: Any) -> Any:
    from unstall.detectors import build

    return build("ssd_tiny", **{**SMALL, **changes})


def drawn(anchors: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Outputs and targets of three images: with boxes, with one box, with none. Places without a box hold nonsense."""
    random = np.random.default_rng(seed)
    logits = random.normal(0, 2, (3, anchors, classes + 1)).astype(np.float32)
    codes = random.normal(0, 2, (3, anchors, 4)).astype(np.float32)
    corner, side = random.uniform(0, 0.6, (3, 7, 2)), random.uniform(0.08, 0.4, (3, 7, 2))
    boxes = np.concatenate([corner, corner + side], axis=2) * (PX[1], PX[0], PX[1], PX[0])
    mask = np.arange(7) < np.array([5, 1, 0])[:, None]
    classes_of = random.integers(0, classes, (3, 7)).astype(np.int32)
    return logits, codes, {"boxes": boxes.astype(np.float32), "classes": classes_of, "mask": mask}


def in_levels(detector: Any, values: np.ndarray) -> list[np.ndarray]:
    per_cell = [2 + 2 * len(ratios) for ratios in detector.settings.ratios]
    counts = [rows * columns * count for (rows, columns), count in zip(detector.grids, per_cell, strict=True)]
    return np.split(values, np.cumsum(counts)[:-1], axis=1)


# --- training ---


def losses_are_those_of_the_reference() -> None:
    from unstall.detectors.detector import Targets

    for changes in ({}, {"negatives_per_object": 1.5}, {"foreground_iou": 0.3, "negatives_per_object": 100.0}):
        detector = small(**changes)
        settings = detector.settings
        logits, codes, targets = drawn(len(detector.anchors), settings.classes)
        raw = {"classes": in_levels(detector, logits), "boxes": in_levels(detector, codes)}
        ours = {name: float(numbers(loss)) for name, loss in detector.losses_of(raw, Targets(**targets)).items()}
        theirs = reference.losses(
            logits, codes, detector.anchors.astype(np.float64), targets, settings.foreground_iou, settings.negatives_per_object
        )
        for name, loss in theirs.items():
            assert loss > 0
            assert abs(ours[name] - loss) < TOLERANCE * loss, (changes, name, ours, theirs)


def a_batch_without_a_box_has_no_loss() -> None:
    from unstall.detectors.detector import Targets

    detector = small()
    logits, codes, targets = drawn(len(detector.anchors), detector.settings.classes)
    targets["mask"][:] = False
    raw = {"classes": in_levels(detector, logits), "boxes": in_levels(detector, codes)}
    assert {name: float(numbers(loss)) for name, loss in detector.losses_of(raw, Targets(**targets)).items()} == {
        "class": 0,
        "box": 0,
    }


def the_hardest_background_is_found_exactly() -> None:
    from unstall.detectors.parts.losses import hard_negatives

    random = np.random.default_rng(1)
    for per_object, levels in ((3.0, 10_000), (3.0, 4), (0.5, 3), (50.0, 10)):  # few levels: many equal losses
        loss = (random.integers(0, levels, (5, 200)) / levels).astype(np.float32)
        is_object = random.random((5, 200)) < np.array([0.0, 0.005, 0.03, 0.3, 1.0])[:, None]
        is_background = ~is_object & (random.random((5, 200)) < 0.9)
        chosen = numbers(hard_negatives(loss, is_object, is_background, per_object))
        for image in range(5):
            wanted = min(int(per_object * is_object[image].sum()), is_background[image].sum())
            assert chosen[image].sum() == wanted
            assert not (chosen[image] & ~is_background[image]).any()
            hardest = np.sort(loss[image][is_background[image]])[::-1][:wanted]
            assert np.array_equal(np.sort(loss[image][chosen[image]])[::-1], hardest)


def a_place_where_nothing_is_seen_has_a_finite_gradient() -> None:
    """The length of such a place is 0, and its gradient would be 0/0."""
    from unstall.detectors.ssd import Scaled

    layer = Scaled(name="backbone")
    x = np.zeros((1, 2, 2, 8), np.float32)
    x[0, 0, 0] = np.arange(8)
    layer.build(x.shape)
    y, gradient = value_and_gradient(layer, x)
    assert np.allclose(np.linalg.norm(y[0, 0, 0]), 20.0, atol=1e-4)
    assert not y[0, 1].any() and np.isfinite(gradient).all() and gradient[0, 0, 0].any()


def value_and_gradient(function: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the sum of squares of the first half of the channels, as that of all is constant."""
    import keras
    from keras import ops

    def total(given: Any) -> Any:
        return ops.sum(function(given)[..., :4] ** 2)

    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return np.asarray(function(x)), np.asarray(jax.grad(total)(x))
    if backend == "tensorflow":
        import tensorflow as tf

        given = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(given)
            result = total(given)
        return function(x).numpy(), tape.gradient(result, given).numpy()
    import torch

    leaf = torch.tensor(x, requires_grad=True)
    total(leaf).backward()
    assert leaf.grad is not None
    return numbers(function(x).detach()), leaf.grad.numpy()


# --- detecting ---


def crowded(seed: int, anchors: int, classes: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Boxes in clumps, and scores of which a share is none. No two scores are equal, so that the order is certain."""
    random = np.random.default_rng(seed)
    clumps = random.uniform(20, 80, (2, 6, 2))[:, random.integers(0, 6, anchors)]
    side = random.uniform(8, 30, (2, anchors, 2))
    centre = clumps + random.normal(0, 3, (2, anchors, 2))
    boxes = np.concatenate([centre - side / 2, centre + side / 2], axis=2).astype(np.float32)
    scores = random.permuted(np.linspace(0.011, 0.99, 2 * anchors * classes)).reshape(2, anchors, classes)
    return boxes, np.where(random.random(scores.shape) < share, scores, 0).astype(np.float32)


def suppression_is_that_of_the_reference() -> None:
    """Where the best few decide, where they do not, and where there are no more than these."""
    from unstall.detectors.parts.class_nms import suppressed_by_class

    cases = [
        (40, 3, 0.9, 10, 5, 2),
        (120, 4, 0.9, 20, 30, 1),
        (120, 4, 0.9, 400, 10, 5),
        (60, 5, 0.02, 20, 20, 2),
        (6, 2, 1.0, 4, 30, 5),
    ]
    for anchors, classes, share, most_candidates, most, few in cases:
        boxes, scores = crowded(anchors, anchors, classes, share)
        found = suppressed_by_class(boxes, scores, 0.45, most_candidates, most, few)
        our_boxes, our_scores, our_classes = (numbers(each) for each in found)
        assert our_scores.shape == (2, most)
        for image in range(2):
            wanted = reference.suppressed(boxes[image].astype(np.float64), scores[image], 0.45, most_candidates, most)
            used = our_classes[image] >= 0
            case = (anchors, classes, share, most_candidates, most, few, image)
            assert used.sum() == len(wanted) > 0, (case, used.sum(), len(wanted))
            for place, (score, number, anchor) in enumerate(wanted):
                assert our_scores[image, place] == np.float32(score), (case, place)
                assert our_classes[image, place] == number, (case, place)
                assert np.array_equal(our_boxes[image, place], boxes[image, anchor]), (case, place)


def detections_are_those_of_the_reference() -> None:
    detector = small(least_score=0.05, most_detections=40)
    logits, codes, _ = drawn(len(detector.anchors), detector.settings.classes)
    raw = {"classes": in_levels(detector, logits * 3), "boxes": in_levels(detector, codes)}
    sizes = np.array([PX, (50, 128), (96, 70)], np.int32)
    boxes, scores, classes = (numbers(each) for each in detector.detections_of(raw, sizes))
    for image, (height, width) in enumerate(sizes):
        shares = reference.softmax(logits[image].astype(np.float64) * 3)[:, 1:]
        shares = np.where(shares > 0.05, shares, 0)
        cut = reference.decoded(codes[image].astype(np.float64), detector.anchors.astype(np.float64))
        cut = np.clip(cut, 0, (width, height, width, height))
        wanted = reference.suppressed(cut, shares, 0.45, 400, 40)
        assert (classes[image] >= 0).sum() == len(wanted)
        assert np.allclose(scores[image][: len(wanted)], [score for score, _, _ in wanted], atol=1e-4)
        same = [
            classes[image, place] == number and np.allclose(boxes[image, place], cut[anchor], atol=0.05)
            for place, (_, number, anchor) in enumerate(wanted)
        ]
        assert np.mean(same) > 0.9  # scores that differ in the seventh digit only may change places


def a_box_of_an_object_is_found_again() -> None:
    """What the losses ask for is what detecting reads: outputs that say the targets give the targets."""
    detector = small(classes=3, foreground_iou=0.4)
    _, _, targets = drawn(1, 3)
    boxes, classes = targets["boxes"][0][:5].astype(np.float64), targets["classes"][0][:5]
    anchors = detector.anchors.astype(np.float64)
    box_of = reference.matched(anchors, boxes, 0.4)
    logits = np.zeros((1, len(anchors), 4), np.float32)
    logits[0, :, 0] = np.where(box_of < 0, 20, 0)
    logits[0, np.arange(len(anchors)), np.where(box_of < 0, 0, classes[box_of] + 1)] = 20
    codes = np.where(box_of[:, None] < 0, 0, reference.encoded(boxes[box_of], anchors)).astype(np.float32)[None]
    raw = {"classes": in_levels(detector, logits), "boxes": in_levels(detector, codes)}
    found, scores, found_classes = (numbers(each)[0] for each in detector.detections_of(raw))
    own = {number: [box for box, each in zip(boxes, classes, strict=True) if each == number] for number in set(classes.tolist())}
    for number, wanted in own.items():
        of_class = found[(found_classes == number) & (scores > 0.5)].astype(np.float64)
        overlap = reference.iou(np.array(wanted), of_class)
        assert (overlap.max(axis=1) > 0.99).all(), (number, wanted, of_class)


CHECKS = (
    losses_are_those_of_the_reference,
    a_batch_without_a_box_has_no_loss,
    the_hardest_background_is_found_exactly,
    a_place_where_nothing_is_seen_has_a_finite_gradient,
    suppression_is_that_of_the_reference,
    detections_are_those_of_the_reference,
    a_box_of_an_object_is_found_again,
)


def report(checks: Sequence[Callable[[], None]]) -> None:
    outcome = {}
    for check in checks:
        try:
            check()
            outcome[check.__name__] = ""
        except Exception:  # whatever it is, it is this check's outcome, and the others are still to run
            outcome[check.__name__] = traceback.format_exc()[-2000:]
    print(json.dumps(outcome))


if __name__ == "__main__":
    report(CHECKS)
