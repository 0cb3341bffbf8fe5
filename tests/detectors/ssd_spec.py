"""SSD's own: its losses and what it finds, against a reference in NumPy, on whichever backend runs."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from tests.detectors import ssd_reference as reference
from tests.detectors.gradients import compiled
from tests.detectors.layers.random_boxes import array
from unstall.base.errors import InvalidInputError
from unstall.detectors import create_model
from unstall.detectors.detector import Targets, divide_terms
from unstall.detectors.ssd import L2Norm

PX = (64, 96)
SMALL = {"image_size": PX, "stem_channels": 4, "stage_convs": (1, 1, 1, 1, 1), "num_classes": 5}
TOLERANCE = 2e-4


def small(**changes: Any) -> Any:
    return create_model("ssd_tiny", **{**SMALL, **changes})


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
    per_cell = [2 + 2 * len(ratios) for ratios in detector.settings.aspect_ratios]
    counts = [rows * columns * count for (rows, columns), count in zip(detector.grids, per_cell, strict=True)]
    return np.split(values, np.cumsum(counts)[:-1], axis=1)


# --- training ---


def test_losses_are_those_of_the_reference() -> None:
    for changes in ({}, {"neg_pos_ratio": 1.5}, {"fg_iou_threshold": 0.3, "neg_pos_ratio": 100.0}):
        detector = small(**changes)
        settings = detector.settings
        logits, codes, targets = drawn(len(detector.anchors), settings.num_classes)
        raw = {"classes": in_levels(detector, logits), "boxes": in_levels(detector, codes)}
        losses_of = compiled(lambda raw, wanted, own=detector: divide_terms(own.compute_terms(raw, wanted)))
        ours = {name: float(array(loss)) for name, loss in losses_of(raw, Targets(**targets)).items()}
        theirs = reference.losses(
            logits, codes, detector.anchors.astype(np.float64), targets, settings.fg_iou_threshold, settings.neg_pos_ratio
        )
        for name, loss in theirs.items():
            assert loss > 0
            assert abs(ours[name] - loss) < TOLERANCE * loss, (changes, name, ours, theirs)


def test_a_batch_without_a_box_has_no_loss() -> None:
    detector = small()
    logits, codes, targets = drawn(len(detector.anchors), detector.settings.num_classes)
    targets["mask"][:] = False
    raw = {"classes": in_levels(detector, logits), "boxes": in_levels(detector, codes)}
    assert {name: float(array(loss)) for name, loss in divide_terms(detector.compute_terms(raw, Targets(**targets))).items()} == {
        "class": 0,
        "box": 0,
    }


def test_a_place_where_nothing_is_seen_has_a_finite_gradient() -> None:
    """The length of such a place is 0, and its gradient would be 0/0."""
    layer = L2Norm(name="backbone")
    x = np.zeros((1, 2, 2, 8), np.float32)
    x[0, 0, 0] = np.arange(8)
    layer.build(x.shape)
    y, gradient = value_and_gradient(layer, x)
    assert np.allclose(np.linalg.norm(y[0, 0, 0]), 20.0, atol=1e-4)
    assert not y[0, 1].any() and np.isfinite(gradient).all() and gradient[0, 0, 0].any()


def value_and_gradient(function: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the sum of squares of the first half of the channels, as that of all is constant."""

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
    return array(function(x).detach()), leaf.grad.numpy()


# --- detecting ---


def test_detections_are_those_of_the_reference() -> None:
    detector = small(score_threshold=0.05, max_detections=40)
    logits, codes, _ = drawn(len(detector.anchors), detector.settings.num_classes)
    raw = {"classes": in_levels(detector, logits), "boxes": in_levels(detector, codes)}
    sizes = np.array([PX, (50, 96), (64, 70)], np.int32)
    boxes, scores, classes = (
        array(each) for each in compiled(lambda *given: tuple(detector.select_detections(*given)))(raw, sizes)
    )
    for image, (height, width) in enumerate(sizes):
        shares = reference.softmax(logits[image].astype(np.float64))[:, 1:]
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
        assert np.mean(same) > 0.9, same  # scores that differ in the seventh digit only may change places


def test_a_box_of_an_object_is_found_again() -> None:
    """What the losses ask for is what detecting reads: outputs that say the targets give the targets."""
    detector = small(num_classes=3, fg_iou_threshold=0.4)
    _, _, targets = drawn(1, 3)
    boxes, classes = targets["boxes"][0][:5].astype(np.float64), targets["classes"][0][:5]
    anchors = detector.anchors.astype(np.float64)
    box_of = reference.matched(anchors, boxes, 0.4)
    logits = np.zeros((1, len(anchors), 4), np.float32)
    logits[0, :, 0] = np.where(box_of < 0, 20, 0)
    logits[0, np.arange(len(anchors)), np.where(box_of < 0, 0, classes[box_of] + 1)] = 20
    codes = np.where(box_of[:, None] < 0, 0, reference.encoded(boxes[box_of], anchors)).astype(np.float32)[None]
    raw = {"classes": in_levels(detector, logits), "boxes": in_levels(detector, codes)}
    found, scores, found_classes = (
        array(each)[0] for each in compiled(lambda *given: tuple(detector.select_detections(*given)))(raw)
    )
    own = {number: [box for box, each in zip(boxes, classes, strict=True) if each == number] for number in set(classes.tolist())}
    for number, wanted in own.items():
        of_class = found[(found_classes == number) & (scores > 0.5)].astype(np.float64)
        overlap = reference.iou(np.array(wanted), of_class)
        assert (overlap.max(axis=1) > 0.99).all(), (number, wanted, of_class)


# --- predict, as Keras has it ---


def test_predict_gives_the_boxes_scores_and_classes_of_all_images_as_arrays() -> None:
    detector = small(score_threshold=0.01)
    images = np.random.default_rng(3).integers(0, 256, (5, *PX, 3), np.uint8)
    expected = [array(part) for part in compiled(lambda pixels: tuple(detector.compute_detections(pixels)))(images)]
    assert (expected[2] >= 0).any()
    gaps = np.abs(np.diff(expected[1], axis=1)) > TOLERANCE  # what scores alike may stand in either order
    is_alone = np.pad(gaps, ((0, 0), (1, 0)), constant_values=True) & np.pad(gaps, ((0, 0), (0, 1)), constant_values=True)
    assert is_alone.any()
    for found in (detector.predict(images, batch_size=2, verbose=0), detector.predict_on_batch(images)):
        assert all(isinstance(part, np.ndarray) for part in found)
        np.testing.assert_allclose(found.scores, expected[1], rtol=TOLERANCE, atol=TOLERANCE)
        np.testing.assert_allclose(found.boxes[is_alone], expected[0][is_alone], rtol=TOLERANCE, atol=PX[1] * TOLERANCE)
        np.testing.assert_array_equal(found.classes[is_alone], expected[2][is_alone])


def test_predict_takes_what_gives_batches() -> None:
    detector = small(score_threshold=0.01)
    images = np.random.default_rng(3).integers(0, 256, (4, *PX, 3), np.uint8)
    batches = ((images[start : start + 2],) for start in (0, 2))
    assert [part.shape[0] for part in detector.predict(batches, verbose=0)] == [4, 4, 4]


def test_predict_refuses_images_of_another_size() -> None:
    for call in (small().predict, small().predict_on_batch):
        for wrong in (np.zeros((2, 32, 32, 3)), np.zeros((*PX, 3))):
            with pytest.raises(InvalidInputError, match=r"expected images of the shape \(n, 64, 96, 3\).*Received: shape \("):
                call(wrong)


def test_what_predict_makes_is_not_a_part_of_the_detector() -> None:
    detector = small()
    names = [variable.path for variable in detector.variables]
    detector.predict(np.zeros((1, *PX, 3), np.uint8), verbose=0)
    assert [variable.path for variable in detector.variables] == names
