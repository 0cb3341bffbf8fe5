"""A detector written for others to run: from pixels to boxes, suppression inside."""

from __future__ import annotations

import contextlib
import io
import shutil
from pathlib import Path
from typing import Any

import keras
import numpy as np

from unstall.backends import running_backend
from unstall.base.errors import InvalidInputError, UnstallError
from unstall.detectors.detector import Detector
from unstall.storage import is_bucket, resolve_path
from unstall.storage.transfer import whole_at
from unstall.training.evaluate.inference import InferenceModel
from unstall.training.export.targets import refuse_unloadable

FORMATS = {"savedmodel": "tf_saved_model", "onnx": "onnx", "litert": "litert"}
# What the converters raise where they do not know an operation, or their package does not fit the backend's.
CANNOT = (ValueError, TypeError, NotImplementedError, RuntimeError, AttributeError, ImportError, KeyError, AssertionError)


def export(detector: Detector, target: str, out: Path | str, batch: int = 1) -> dict[str, Any]:
    """What was written: the shapes that go in and come out. The batch is of fixed size, as everything in a detector is."""
    if detector.settings.precision != "float32":
        raise InvalidInputError(f"precision: expected float32 for an export. Received: {detector.settings.precision}")
    target_path = resolve_path(out)
    if is_bucket(target_path):
        with whole_at(target_path) as local:
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
            f"{detector.name} cannot be exported as {target} from {running_backend()}: "
            f"{type(error).__name__}: {first[0][:300] if first else ''}"
        ) from error
    except OSError as error:
        raise InvalidInputError(f"Cannot write to '{out}': {error.strerror or error}.") from None
    try:
        refuse_unloadable(target, str(running_backend()), str(out), shape)
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
