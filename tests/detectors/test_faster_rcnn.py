"""Faster R-CNN, on each backend."""

from __future__ import annotations

import pytest

from tests.detectors.in_backend import run_checks

BACKENDS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_layers_losses_and_detections(backend: str) -> None:
    run_checks(backend, "tests.detectors.check_faster_rcnn")
