"""Steps, training by `fit`, detecting, evaluating and exporting are as specified, in one process for each backend."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.conformance import BACKENDS, SPECIFIED_ON
from tests.detectors.specs import assert_holds

HERE = Path(__file__).parent
FIT = "fit_spec.py"
# A fit goes the same way on every backend but for its step, which TensorFlow and JAX compile for each test anew.
FIT_COMPILED = (
    f"{FIT}::test_its_steps_are_those_of_unstall_train",
    f"{FIT}::test_a_validation_changes_neither_weights_nor_statistics",
)
EVERYWHERE = (
    "step/step_spec.py",
    "step/unsupported_methods_spec.py",
    "evaluate/inference_spec.py",
)
OWN = {
    # All three kinds; the others by hand: KERAS_BACKEND=jax pytest tests/training/export_spec.py
    "tensorflow": ("export_spec.py",),
    "jax": (
        "step/gpu_step_spec.py",
    ),  # what PyTorch and TensorFlow compile for a card is nothing else, or cannot be had without one
    "torch": (
        "step/optimizer_spec.py",
        "step/learning_rate_spec.py",
        "evaluate/detections_spec.py",
        "lr_finder_spec.py",
    ),  # whose optimizers updates are held against; and which compiles nothing
}


@BACKENDS
def test_training_is_as_specified(backend: str) -> None:
    fit = (FIT,) if backend in SPECIFIED_ON else FIT_COMPILED
    assert_holds(backend, *(HERE / name for name in (*EVERYWHERE, *fit, *OWN.get(backend, ()))))
