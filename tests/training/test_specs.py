"""Steps, training by `fit`, detecting, evaluating and exporting are as specified, in one process for each backend."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import BACKENDS
from tests.detectors.specs import assert_holds

HERE = Path(__file__).parent
EVERYWHERE = ("step_spec.py", "fitting_spec.py", "refusing_spec.py", "detecting_spec.py")
OWN = {
    "tensorflow": (
        "export_spec.py",
    ),  # all three kinds; the others by hand: KERAS_BACKEND=jax pytest tests/training/export_spec.py
    "jax": ("card_spec.py",),  # what PyTorch and TensorFlow compile for a card is nothing else, or cannot be had without one
    "torch": ("update_spec.py", "trying_spec.py"),  # whose optimizers updates are held against; and which compiles nothing
}


@BACKENDS
def test_training_is_as_specified(backend: str) -> None:
    assert_holds(backend, *(HERE / name for name in (*EVERYWHERE, *OWN.get(backend, ()))))
