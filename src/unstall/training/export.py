"""A detector written for others to run: from pixels to boxes, suppression inside; and what can be had from which backend."""

from __future__ import annotations

import contextlib
import io
import shutil
import warnings
from pathlib import Path
from typing import Any

import keras
import numpy as np

from unstall.backends import find_running_backend, is_installed
from unstall.base.errors import InvalidInputError, MissingDependencyError, UnstallError
from unstall.detectors.detector import Detector, InferenceModel
from unstall.storage import is_bucket, resolve_path
from unstall.storage.transfer import open_target

# Packages that Keras calls, by the name that is imported and that which is installed; or why it cannot be done from this backend.
NEEDS: dict[str, dict[str, tuple[tuple[str, str], ...] | str]] = {
    "savedmodel": {
        "tensorflow": (),
        "jax": (("tensorflow", "tensorflow-cpu"),),
        "torch": "Keras has no way to",
    },
    "onnx": {
        "tensorflow": (("tf2onnx", "tf2onnx"), ("onnx", "onnx")),
        "jax": (("jax2onnx", "jax2onnx"), ("onnx", "onnx")),
        "torch": "PyTorch's exporter does not know every operation of a detector",
    },
    "litert": {"tensorflow": (), "jax": "Keras has no way to", "torch": (("litert_torch", "litert-torch"),)},
}
SUFFIXES = {"savedmodel": "", "onnx": ".onnx", "litert": ".tflite"}


def refuse_impossible(target: str, backend: str, out: str) -> None:
    """Before a detector is built, which takes longer than to say so."""
    needs = NEEDS[target][backend]
    if isinstance(needs, str):
        others = ", ".join(name for name, packages in NEEDS[target].items() if not isinstance(packages, str))
        raise InvalidInputError(
            f"A detector cannot be exported as {target} from {backend}: {needs}. Choose another with --backend: {others}."
        )
    for package, installed_as in needs:
        if not is_installed(package):
            raise MissingDependencyError(
                f"To export {target} from {backend}, the package '{package}' is needed. Install: pip install {installed_as}"
            )
    if SUFFIXES[target] and not out.endswith(SUFFIXES[target]):
        raise InvalidInputError(f"'{out}': expected a name that ends in '{SUFFIXES[target]}' for {target}.")


def refuse_unloadable(target: str, backend: str, out: str, shape: tuple[int, ...]) -> None:
    """A converter may write what the runtime then cannot run. So it is loaded once, before anybody relies on it."""
    if (target, backend) == ("savedmodel", "jax"):
        _run_savedmodel(out, shape)
    elif target == "litert":
        _prepare_litert(out)


def _run_savedmodel(out: str, shape: tuple[int, ...]) -> None:
    """That of JAX holds a program in a form that grows with JAX's version; TensorFlow reads it if it is as new."""
    import jax
    import tensorflow as tf

    try:
        loaded = tf.saved_model.load(out)
        loaded.serve(tf.zeros(shape))
    except (tf.errors.OpError, ValueError, RuntimeError) as error:
        raise UnstallError(
            f"TensorFlow {tf.__version__} cannot run what JAX {jax.__version__} wrote: their versions are too far apart. "
            "Export from tensorflow instead: --backend tensorflow"
        ) from error


def _prepare_litert(out: str) -> None:
    if is_installed("ai_edge_litert"):
        from ai_edge_litert.interpreter import Interpreter
    else:
        import tensorflow as tf

        Interpreter = getattr(tf.lite, "Interpreter", None)  # noqa: N806 a class, which later versions do not have
    if Interpreter is None:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has moved to a package of its own
            Interpreter(out).allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise UnstallError(
            f"LiteRT cannot run what was written: {str(error)[:300]} Export a savedmodel or onnx instead."
        ) from error


# --- the file ---


FORMATS = {"savedmodel": "tf_saved_model", "onnx": "onnx", "litert": "litert"}
# What the converters raise where they do not know an operation, or their package does not fit the backend's.
CANNOT = (ValueError, TypeError, NotImplementedError, RuntimeError, AttributeError, ImportError, KeyError, AssertionError)


def export(detector: Detector, target: str, out: Path | str, batch: int = 1) -> dict[str, Any]:
    """What was written: the shapes that go in and come out. The batch is of fixed size, as everything in a detector is."""
    if detector.settings.precision != "float32":
        raise InvalidInputError(f"precision: expected float32 for an export. Received: {detector.settings.precision}")
    target_path = resolve_path(out)
    if is_bucket(target_path):
        with open_target(target_path) as local:
            return {**export(detector, target, local, batch), "out": str(target_path)}
    out = target_path
    if out.exists() and target == "savedmodel":
        raise InvalidInputError(f"'{out}' is there already. Expected a folder that is not.")
    model = InferenceModel(detector)
    shape = (batch, *model.input_shape_px)
    outputs = model(np.zeros(shape, np.float32), training=False)
    signature = [keras.InputSpec(shape=shape, dtype="float32", name="images")]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):  # converters talk; what matters is in what is returned
            model.export(str(out), format=FORMATS[target], verbose=False, input_signature=signature)
    except CANNOT as error:
        _remove(out)
        first = str(error).strip().splitlines()
        raise UnstallError(
            f"{detector.name} cannot be exported as {target} from {find_running_backend()}: "
            f"{type(error).__name__}: {first[0][:300] if first else ''}"
        ) from error
    except OSError as error:
        raise InvalidInputError(f"Cannot write to '{out}': {error.strerror or error}.") from None
    try:
        refuse_unloadable(target, str(find_running_backend()), str(out), shape)
    except UnstallError:
        _remove(out)
        raise
    return {
        "out": str(out),
        "format": target,
        "detector": detector.name,
        "input": {"name": "images", "shape": list(shape), "dtype": "float32"},
        "outputs": {name: list(values.shape) for name, values in outputs.items()},
    }


def _remove(out: Path) -> None:
    """Half of a model is none."""
    if out.is_dir():
        shutil.rmtree(out, ignore_errors=True)
    else:
        out.unlink(missing_ok=True)
