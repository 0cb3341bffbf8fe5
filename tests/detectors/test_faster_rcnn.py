"""Faster R-CNN conforms on every backend; see `faster_rcnn_spec.py`, too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.detectors.conformance import BACKENDS, CHECKS, Measured, Subject

# As many samples as there are anchors and regions: nothing is left to chance, which each backend would decide in its own way.
CHANGES = {
    "image_size": [64, 96], "rpn_pre_nms_top_n": [60, 60], "rpn_post_nms_top_n": [60, 30],
    "rpn_batch_size_per_image": 10**6, "box_batch_size_per_image": 10**6, "score_threshold": 0.01,
}  # fmt: skip
TINY = Subject("faster_rcnn_tiny", CHANGES)


@BACKENDS
@CHECKS
def test_it_conforms(check: Callable[[Measured], None], backend: str, request: pytest.FixtureRequest) -> None:
    check(TINY.measured(backend, request.config.cache))
