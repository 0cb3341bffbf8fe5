"""Steps on trial, the range test and the check of the rate are as specified, on one backend: the step itself is tested on each."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.detectors.specs import assert_holds


@pytest.mark.torch
def test_trying_is_as_specified() -> None:
    assert_holds("torch", Path(__file__).with_name("trying_spec.py"))
