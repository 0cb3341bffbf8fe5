"""Training by `fit`, detecting, evaluating, predicting and exporting are as specified on every backend, in one process for each."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import BACKENDS
from tests.detectors.specs import assert_holds

HERE = Path(__file__).parent


@BACKENDS
def test_fitting_detecting_evaluating_and_exporting_are_as_specified(backend: str) -> None:
    # From TensorFlow all three can be exported; the others by hand: KERAS_BACKEND=jax pytest tests/training/export_spec.py
    exporting = [HERE / "export_spec.py"] if backend == "tensorflow" else []
    assert_holds(backend, HERE / "fitting_spec.py", HERE / "keras_optimizer_spec.py", HERE / "detecting_spec.py", *exporting)
