"""What counts as Keras's own, under every name that Keras has had."""

from __future__ import annotations

import pytest

from unstall.probe.core.user_code import is_of_keras
from unstall.probe.model.description import _is_own_step


def a_class(module: str, **members: object) -> type:
    return type("Model", (), {"__module__": module, **members})


@pytest.mark.parametrize(
    "module",
    [
        "keras.src.models.model", "tf_keras.src.engine.training", "keras.engine.training",
        "tensorflow.python.keras.engine.training", "tensorflow_core.python.keras.engine.training",
    ],
)  # fmt: skip
def test_a_model_of_keras_is_no_model_of_the_users(module: str) -> None:
    kind = a_class(module, train_step=lambda self: None)
    assert is_of_keras(kind) and not _is_own_step(kind())


@pytest.mark.parametrize("module", ["__main__", "tensorflow.python.ops.math_ops", "keras_retinanet.models", "my.keras", ""])
def test_what_others_have_written_is_theirs(module: str) -> None:
    kind = a_class(module, train_step=lambda self: None)
    assert not is_of_keras(kind) and _is_own_step(kind())
