"""RetinaNet is as specified, and conforms, on every backend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.detectors.conformance import BACKENDS, CHECKS, SPECIFIED, Measured, Subject
from tests.detectors.specs import assert_holds

TINY = Subject("retinanet_tiny", {"image_px": [96, 128], "head_convs": 1})


@BACKENDS
@CHECKS
def test_it_conforms(check: Callable[[Measured], None], backend: str, request: pytest.FixtureRequest) -> None:
    check(TINY.measured(backend, request.config.cache))


@SPECIFIED
def test_it_is_as_specified(backend: str) -> None:
    assert_holds(backend, Path(__file__).with_name("retinanet_spec.py"))
