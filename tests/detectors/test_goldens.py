"""The published variants agree with torchvision, on every backend."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import SPECIFIED
from tests.detectors.specs import assert_holds


@SPECIFIED
def test_it_gives_what_torchvision_gives(backend: str) -> None:
    assert_holds(backend, Path(__file__).with_name("golden_spec.py"))
