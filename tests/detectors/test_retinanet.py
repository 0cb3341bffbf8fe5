"""RetinaNet conforms on every backend; see `retinanet_spec.py`, too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.detectors.conformance import BACKENDS, CHECKS, Measured, Subject

TINY = Subject("retinanet_tiny", {"image_size": [96, 128], "num_head_convs": 1})


@BACKENDS
@CHECKS
def test_it_conforms(check: Callable[[Measured], None], backend: str, request: pytest.FixtureRequest) -> None:
    check(TINY.measured(backend, request.config.cache))
