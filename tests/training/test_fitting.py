"""Training by Keras's `fit` is as specified on every backend."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import BACKENDS
from tests.detectors.specs import assert_holds


@BACKENDS
def test_fitting_is_as_specified(backend: str) -> None:
    assert_holds(backend, *(Path(__file__).with_name(name) for name in ("fitting_spec.py", "keras_optimizer_spec.py")))
