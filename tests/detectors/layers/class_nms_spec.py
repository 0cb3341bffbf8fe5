"""Suppression class by class, against one that takes class after class and box after box."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors import ssd_reference as reference
from tests.detectors.gradients import compiled
from tests.detectors.layers.random_boxes import array
from unstall.detectors.layers.nms import suppress_by_class


def crowded(seed: int, anchors: int, classes: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Boxes in clumps, and scores of which a share is none. No two scores are equal, so that the order is certain."""
    random = np.random.default_rng(seed)
    clumps = random.uniform(20, 80, (2, 6, 2))[:, random.integers(0, 6, anchors)]
    side = random.uniform(8, 30, (2, anchors, 2))
    centre = clumps + random.normal(0, 3, (2, anchors, 2))
    boxes = np.concatenate([centre - side / 2, centre + side / 2], axis=2).astype(np.float32)
    scores = random.permuted(np.linspace(0.011, 0.99, 2 * anchors * classes)).reshape(2, anchors, classes)
    return boxes, np.where(random.random(scores.shape) < share, scores, 0).astype(np.float32)


@pytest.mark.parametrize(
    ("anchors", "classes", "share", "pre_nms_top_k", "most", "small"),
    [
        pytest.param(40, 3, 0.9, 10, 5, 2, id="the best few decide"),
        pytest.param(120, 4, 0.9, 20, 30, 1, id="the best few do not decide"),
        pytest.param(120, 4, 0.9, 400, 10, 5, id="a class has fewer than may be looked at"),
        pytest.param(60, 5, 0.02, 20, 20, 2, id="there are no more than these few"),
        pytest.param(6, 2, 1.0, 4, 30, 5, id="there are fewer anchors than places"),
    ],
)
def test_suppression_is_that_of_the_reference(
    anchors: int, classes: int, share: float, pre_nms_top_k: int, most: int, small: int
) -> None:
    boxes, scores = crowded(anchors, anchors, classes, share)
    suppress = compiled(lambda *given: tuple(suppress_by_class(*given, 0.45, pre_nms_top_k, most, small)))
    our_boxes, our_scores, our_classes = (array(each) for each in suppress(boxes, scores))
    assert our_scores.shape == (2, most)
    for image in range(2):
        wanted = reference.suppressed(boxes[image].astype(np.float64), scores[image], 0.45, pre_nms_top_k, most)
        assert (our_classes[image] >= 0).sum() == len(wanted) > 0
        for place, (score, number, anchor) in enumerate(wanted):
            assert our_scores[image, place] == np.float32(score)
            assert our_classes[image, place] == number
            assert np.array_equal(our_boxes[image, place], boxes[image, anchor])
