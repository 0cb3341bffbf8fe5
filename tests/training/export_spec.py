"""An exported detector gives the same boxes as the one that it was made from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from tests.training.tiny import tiny_weights
from unstall.backends import find_running_backend, is_installed
from unstall.base.errors import InvalidInputError, UnstallError
from unstall.detectors.detector import Detector, InferenceModel
from unstall.detectors.weights.store import build_from
from unstall.training.export import NEEDS, export, refuse_impossible, refuse_unloadable

IMAGES = np.random.default_rng(0).integers(0, 256, (1, 96, 96, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Detector:
    return build_from(tiny_weights(tmp_path_factory.mktemp("weights") / "tiny.safetensors"))


def savedmodel(path: Path) -> dict[str, Any]:
    import tensorflow as tf

    loaded = tf.saved_model.load(str(path))
    return dict(loaded.serve(IMAGES))


def litert(path: Path) -> dict[str, Any]:
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(str(path))
    runner = interpreter.get_signature_runner()
    (name,) = runner.get_input_details()
    return dict(runner(**{name: IMAGES}))


def onnx(path: Path) -> dict[str, Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    outputs = session.run(None, {session.get_inputs()[0].name: IMAGES})
    kinds = {3: "boxes"}
    return {kinds.get(each.ndim, "scores" if each.dtype.kind == "f" else "classes"): each for each in outputs}


RUN: dict[str, tuple[str, Callable[[Path], dict[str, Any]]]] = {
    "savedmodel": ("model", savedmodel),
    "litert": ("model.tflite", litert),
    "onnx": ("model.onnx", onnx),
}


@pytest.mark.parametrize("target", RUN)
def test_it_gives_the_same_boxes(target: str, detector: Detector, tmp_path: Path) -> None:
    name, run = RUN[target]
    out = tmp_path / name
    try:
        refuse_impossible(target, str(find_running_backend()), str(out))
    except UnstallError as refused:
        pytest.skip(str(refused))
    if target == "onnx" and not is_installed("onnxruntime"):
        pytest.skip("onnxruntime is not installed")
    try:
        plain = export(detector, target, out)
    except UnstallError as refused:
        # What there is of JAX and TensorFlow may be too far apart: then it is said, and nothing is left behind.
        assert find_running_backend() == "jax" and "their versions are too far apart" in str(refused) and not out.exists()
        pytest.skip(str(refused))
    expected = {key: keras.ops.convert_to_numpy(value) for key, value in InferenceModel(detector)(IMAGES).items()}
    assert (expected["classes"] >= 0).sum() > 10
    found = {key: np.asarray(value) for key, value in run(out).items()}
    assert {key: list(value.shape) for key, value in found.items()} == plain["outputs"]
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-4)
    is_clear = expected["scores"][0] - np.append(expected["scores"][0][1:], 0) > 1e-4  # not nearly as sure as the next
    assert is_clear.sum() > 5
    np.testing.assert_array_equal(found["classes"][0][is_clear], expected["classes"][0][is_clear])
    np.testing.assert_allclose(found["boxes"][0][is_clear], expected["boxes"][0][is_clear], atol=0.05)


def test_what_keras_cannot_is_said_with_what_it_can() -> None:
    with pytest.raises(InvalidInputError, match="cannot be exported as litert from jax: Keras has no way to"):
        refuse_impossible("litert", "jax", "a.tflite")
    with pytest.raises(InvalidInputError, match=r"expected a name that ends in '.tflite'"):
        refuse_impossible("litert", "tensorflow", "a.bin")
    assert all(set(needs) == {"tensorflow", "jax", "torch"} for needs in NEEDS.values())


def test_what_is_there_is_not_overwritten_by_a_folder(detector: Detector, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is there already"):
        export(detector, "savedmodel", tmp_path)


def test_what_the_runtime_cannot_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tflite"
    path.write_bytes(b"no model")
    if not is_installed("ai_edge_litert") and find_running_backend() != "tensorflow":
        pytest.skip("there is no interpreter of LiteRT here")
    with pytest.raises(UnstallError, match="LiteRT cannot run what was written"):
        refuse_unloadable("litert", "tensorflow", str(path), (1,))
