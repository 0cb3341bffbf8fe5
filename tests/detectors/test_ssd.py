"""SSD: it conforms on every backend, and its default boxes are the published ones; see `ssd_spec.py` and `ssd_network_spec.py`, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.detectors.conformance import BACKENDS, CHECKS, Measured, Subject
from tests.detectors.golden import GOLDENS, kept
from unstall.data.anchors import create_default_boxes

# Boxes of all levels must be objects, or the heads of some level would have nothing to learn from. And it is thin: of a million values
# before a ReLU one is so near to 0 that two backends round it to different sides, and then their gradients differ.
TINY = Subject("ssd_tiny", {"image_size": [64, 96], "stem_channels": 4, "fg_iou_threshold": 0.1})


@BACKENDS
@CHECKS
def test_it_conforms(check: Callable[[Measured], None], backend: str, request: pytest.FixtureRequest) -> None:
    check(TINY.measured(backend, request.config.cache))


def test_default_boxes_stand_a_step_apart_and_are_wider_on_a_wide_image() -> None:
    boxes = create_default_boxes((40, 80), [(5, 10), (2, 3)], [0.1, 0.2, 0.4], [[2.0], []], [8, None])
    centres = (boxes[:, :2] + boxes[:, 2:]) / 2
    sides = boxes[:, 2:] - boxes[:, :2]
    assert len(boxes) == 5 * 10 * 4 + 2 * 3 * 2
    assert np.allclose(
        centres[[0, 4, 40]], [[4, 4], [12, 4], [4, 12]]
    )  # four boxes of a cell, then the next column, then the next row
    assert np.allclose(centres[[200, 202, 206]], [[80 / 6, 10], [40, 10], [80 / 6, 30]], atol=1e-4)  # spread over the image
    assert np.allclose(sides[0], [8, 4]) and np.allclose(sides[200], [16, 8])


@pytest.mark.parametrize(
    ("variant", "px", "sides", "scales", "ratios", "steps"),
    [
        ("ssd300_vgg16", 300, (38, 19, 10, 5, 3, 1), (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05),
         ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,)), (8, 16, 32, 64, None, None)),
        ("ssdlite320_mobilenet_v3_large", 320, (20, 10, 5, 3, 2, 1), (0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0), ((2, 3),) * 6, None),
    ],
)  # fmt: skip
def test_default_boxes_are_torchvisions_to_the_last_digit(
    variant: str, px: int, sides: tuple, scales: tuple, ratios: tuple, steps: tuple | None
) -> None:
    """A small box that lies in two of them overlaps both alike: another last digit, and another one learns it."""
    boxes = create_default_boxes((px, px), [(side, side) for side in sides], scales, ratios, steps)
    with np.load(GOLDENS[variant].path) as file:
        assert np.array_equal(kept(boxes)[:-1], file["raw anchors"][:-1])
