"""Whether a class or a function is Keras's own, by the package that it comes from: Keras 2 has lived in several."""

from __future__ import annotations

from typing import Any

ROOTS = ("keras", "tf_keras")
INSIDE_TENSORFLOW = ("tensorflow.python.keras", "tensorflow_core.python.keras")  # up to TensorFlow 2.5, and up to 2.1


def is_of_keras(kind: Any) -> bool:
    module = str(getattr(kind, "__module__", ""))
    return module.split(".", maxsplit=1)[0] in ROOTS or ".".join(module.split(".")[:3]) in INSIDE_TENSORFLOW
