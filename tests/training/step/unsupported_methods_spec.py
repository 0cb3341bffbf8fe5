"""What Keras's methods cannot do on a detector is refused with the way that works, and that way does work."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from unstall.base.errors import InvalidInputError
from unstall.data.pipeline import Pipeline, PipelineSettings
from unstall.data.synthetic.shapes import Shapes, as_data_set, create_draft
from unstall.detectors import create_model
from unstall.detectors.detector import Detector

PX = 64
IMAGES, BOXES = np.zeros((2, PX, PX, 3), np.float32), np.zeros((2, 3, 4), np.float32)
CALLS: dict[str, Callable[[Detector], Any]] = {
    "fit": lambda detector: detector.fit(IMAGES, BOXES),
    "train_on_batch": lambda detector: detector.train_on_batch(IMAGES, BOXES),
    "evaluate": lambda detector: detector.evaluate(IMAGES, BOXES),
    "test_on_batch": lambda detector: detector.test_on_batch(IMAGES, BOXES),
    "save": lambda detector: detector.save("detector.keras"),
    "export": lambda detector: detector.export("exported"),
}


@pytest.fixture(scope="module")
def detector() -> Detector:
    made = create_model("ssd_tiny", image_size=(PX, PX))
    made.compile("adam")
    return made


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("shapes")
    data = as_data_set(create_draft(Shapes(4, PX, PX, seed=1), folder, {}), folder, "coco")
    return Pipeline(data, PipelineSettings(batch_size=2, height_px=PX, width_px=PX, max_boxes_per_image=9, num_input_workers=1))


def weights_of(detector: Detector) -> list[np.ndarray]:
    return [keras.ops.convert_to_numpy(each).copy() for each in detector.trainable_variables]


def way_instead(call: str, detector: Detector) -> str:
    """The lines of code that the refusal shows."""
    with pytest.raises(InvalidInputError) as refused:
        CALLS[call](detector)
    said = str(refused.value)
    assert said.startswith(f"{call}() is not supported on a detector.")
    return textwrap.dedent("\n".join(line for line in said.splitlines() if line.startswith("    ")))


@pytest.mark.parametrize("call", CALLS)
def test_each_is_refused_and_changes_nothing(call: str, detector: Detector, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    before = weights_of(detector)
    assert way_instead(call, detector)
    assert all(np.array_equal(a, b) for a, b in zip(before, weights_of(detector), strict=True))
    assert not list(tmp_path.iterdir())


def test_the_way_that_fit_names_learns(detector: Detector, pipeline: Pipeline) -> None:
    before = weights_of(detector)
    exec(way_instead("fit", detector), {"detector": detector, "pipeline": pipeline})
    assert any(not np.array_equal(a, b) for a, b in zip(before, weights_of(detector), strict=True))


def test_the_way_that_evaluate_names_gives_average_precision(detector: Detector, pipeline: Pipeline) -> None:
    names: dict[str, Any] = {"detector": detector, "data": pipeline.data}
    exec(way_instead("evaluate", detector), names)
    assert 0 <= names["figures"]["AP"] <= 1


def test_the_way_that_save_names_gives_the_same_detector_again(detector: Detector, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"detector": detector}
    exec(way_instead("save", detector), names)
    again = names["detector"]
    assert again is not detector
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(detector), weights_of(again), strict=True))
    detector.save_weights("detector.weights.h5")
    again.load_weights("detector.weights.h5")


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="a SavedModel comes from TensorFlow")
def test_the_way_that_export_names_writes_a_model(detector: Detector, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    exec(way_instead("export", detector), {"detector": detector})
    assert (tmp_path / "exported" / "saved_model.pb").exists()
