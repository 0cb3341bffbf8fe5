"""Detecting, evaluating, predicting and exporting are as specified on every backend."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.conformance import BACKENDS
from tests.detectors.specs import assert_holds


@BACKENDS
def test_detecting_and_evaluating_are_as_specified(backend: str) -> None:
    assert_holds(backend, Path(__file__).with_name("detecting_spec.py"))


@pytest.mark.tensorflow  # from which all three can be made; the others by hand: KERAS_BACKEND=jax pytest tests/training/export_spec.py
def test_exports_are_as_specified() -> None:
    assert_holds("tensorflow", Path(__file__).with_name("export_spec.py"))
