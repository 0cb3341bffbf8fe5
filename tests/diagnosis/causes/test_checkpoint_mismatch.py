"""checkpoint_mismatch: shapes, counts, classes and names of files that do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import checkpoint_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown

SAVING = "keras/src/saving/saving_lib.py"
KERAS_3 = (
    "A total of 1 objects could not be loaded. Example error message for object <Conv2D name=yolo_head, built=True>:\n\n"
    "The shape of the target variable and the shape of the target value in `variable.assign(value)` must match. "
    "variable.shape=(1, 1, 32, 21), Received: value.shape=(1, 1, 32, 39). Target variable: <Variable path=yolo_head/kernel>"
)
KERAS_2 = (
    "Shape mismatch in layer #3 (named yolo_head) for weight yolo_head/kernel:0. Weight expects shape (1, 1, 32, 21). "
    "Received saved weight with shape (1, 1, 32, 39)"
)
CHECKPOINT = (
    "Received incompatible tensor with shape (32, 39) when attempting to restore variable with shape (32, 21) and name head."
)


@pytest.mark.parametrize("message", [KERAS_3, KERAS_2], ids=["Keras 3", "Keras 2"])
def test_found_for_a_head_of_another_size(message: str) -> None:
    verdict = checkpoint_mismatch.examine(failed("ValueError", message, line(37, "model.load_weights(path)"), within=SAVING))
    assert isinstance(verdict, Found)
    assert "`yolo_head` has the shape (1, 1, 32, 21) in the model, and (1, 1, 32, 39) as it was loaded" in verdict.summary
    assert "21 against 39" in verdict.summary
    assert "skip_mismatch=True" in verdict.actions[0]


def test_found_for_a_checkpoint_of_tensorflow() -> None:
    verdict = checkpoint_mismatch.examine(failed("ValueError", CHECKPOINT, line(37, "checkpoint.restore(path)")))
    assert isinstance(verdict, Found)
    assert "(32, 21) in the model, and (32, 39) as it was loaded" in verdict.summary


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Layer count mismatch when loading weights from file. Model expected 4 layers, found 5 saved layers.", "it has 4 layers with weights, and the file 5"),
        ("You are trying to load a weight file containing 5 layers into a model with 4 layers.", "it has 4 layers with weights, and the file 5"),
        ("Layer 'dense' expected 0 variables, but received 2 variables during loading.", "it has 0 variables of the layer `dense`, and the file 2"),
        ("Could not locate class 'Resize'. Make sure custom classes are decorated", "uses `Resize`"),
        ("Unknown layer: 'Resize'. Please ensure you are using a `keras.utils.custom_object_scope`", "uses `Resize`"),
    ],
)  # fmt: skip
def test_found_for_other_models_and_unknown_classes(message: str, said: str) -> None:
    verdict = checkpoint_mismatch.examine(failed("ValueError", message, line(9, "model = load_model(path)"), within=SAVING))
    assert isinstance(verdict, Found)
    assert said in verdict.summary


@pytest.mark.parametrize(
    ("message", "action"),
    [
        ("Invalid filepath extension for saving. Please add either a `.keras` extension for the native Keras format", ".keras"),
        ("The filename must end in `.weights.h5`. Received: filepath=model.h5", ".weights.h5"),
        (
            "File format not supported: filepath=model. Keras 3 only supports V3 `.keras` files and legacy H5 format files",
            "with the version",
        ),
    ],
)
def test_found_for_names_of_files(message: str, action: str) -> None:
    calls: list[dict[str, Any]] = [
        {"file": SAVING, "line": 1, "function": "save", "values": [{"name": "filepath", "type": "str", "text": "'out/model'"}]}
    ]
    verdict = checkpoint_mismatch.examine(failed("ValueError", message, line(9, "model.save(path)"), within=SAVING, calls=calls))
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("The name is out/model.")
    assert action in verdict.actions[0]


@pytest.mark.parametrize("source", ["x = make(rows)", "model.load_weights(path)"])
def test_clear_of_other_errors(source: str) -> None:
    message = "row 5 has no label" if "load" in source else CHECKPOINT
    assert isinstance(checkpoint_mismatch.examine(failed("ValueError", message, line(9, source))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(checkpoint_mismatch.examine(unseen()), Unknown)


def test_a_head_of_yolo_in_an_old_file_is_told_by_its_classes_and_loaded_by_name() -> None:
    message = (
        "Cannot assign value to variable ' yolo_head/kernel:0': Shape mismatch.The variable shape (1, 1, 32, 24), and the "
        "assigned value shape (255, 32, 1, 1) are incompatible."
    )
    weights = {"name": "weights", "type": "str", "text": "'/zoo/yolo.h5'", "in_failing": True}
    verdict = checkpoint_mismatch.examine(failed("ValueError", message, line(30, "model.load_weights(weights)", weights)))
    assert isinstance(verdict, Found)
    assert "A weight of `yolo_head/kernel` has the shape" in verdict.summary
    assert "255 = 3 x (5 + 80) is that of 80 classes, and 24 = 3 x (5 + 3) that of 3." in verdict.summary
    assert "by_name=True, skip_mismatch=True" in verdict.actions[0]
