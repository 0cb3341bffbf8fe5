"""A training step is as specified on every backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.conformance import BACKENDS
from tests.detectors.specs import assert_holds

HERE = Path(__file__).parent


@BACKENDS
def test_a_step_is_as_specified(backend: str) -> None:
    assert_holds(backend, HERE / "step_spec.py")


@pytest.mark.torch  # whose optimizers it is held against
def test_an_update_is_as_specified() -> None:
    assert_holds("torch", HERE / "update_spec.py")
