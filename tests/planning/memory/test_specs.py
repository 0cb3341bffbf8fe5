"""What needs a framework is as specified."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.specs import assert_holds


@pytest.mark.jax
def test_the_compilers_figures_are_as_specified() -> None:
    assert_holds("jax", Path(__file__).with_name("compiler_spec.py"))


@pytest.mark.torch
def test_a_measured_probe_is_as_specified() -> None:
    assert_holds("torch", Path(__file__).with_name("measurement_spec.py"))
