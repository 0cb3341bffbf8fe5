"""tensor_dtype_mismatch: which value has which dtype, of what a layer or an operation of PyTorch was given."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.error_builders import array, call, ended, layer, line, unseen
from unstall.diagnosis.causes import tensor_dtype_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown

DIFFERENT = "mat1 and mat2 must have the same dtype, but got Double and Float"


def found(message: str, *lines: dict[str, Any], kind: str = "RuntimeError", **seen: Any) -> Found:
    verdict = tensor_dtype_mismatch.examine(ended(kind, message, *lines, **seen))
    assert isinstance(verdict, Found)
    return verdict


def test_found_in_a_layer_with_the_line_that_made_the_data() -> None:
    rows = array("rows", 3, 4, dtype="float64", made_at=40, made_by=["rows = torch.from_numpy(table)"])
    given = array("input", 3, 4, dtype="float64")
    made = layer("Linear", "self.head = nn.Linear(4, 1)")
    verdict = found(DIFFERENT, line("out = model(rows)", rows), makers=[made], calls=[call("forward", given)])
    assert verdict.where == "train.py:40"
    assert "The input of the layer head (Linear) is float64, and its weights are float32" in verdict.summary
    assert "`rows`, given its value at train.py:40, is float64" in verdict.summary
    assert ".float()" in verdict.actions[0]


def test_a_model_is_not_to_be_converted_to_whole_numbers() -> None:
    message = "Input type (unsigned char) and bias type (float) should be the same"
    given = array("input", 1, 1, 8, 8, dtype="uint8")
    verdict = found(message, line("out = model(x)"), makers=[layer("Conv2d", "conv = 1")], calls=[call("forward", given)])
    assert "is uint8, and its weights are float32" in verdict.summary
    assert not any("model.to" in action for action in verdict.actions)


def test_found_of_two_values_by_their_names() -> None:
    message = "expected m1 and m2 to have the same dtype, but got: float != long int"
    verdict = found(message, line("y = a @ b", array("a", 3, 4), array("b", 4, 2, dtype="int64")))
    assert verdict.summary.endswith("`a` is float32. `b` is int64.")


@pytest.mark.parametrize(
    ("message", "fix"),
    [
        ("expected target dtype to be Long or Byte, but got Float", "target.long()"),
        ("tensors used as indices must be long, int, byte or bool tensors", "indices"),
        (
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long",
            ".float()",
        ),
        ("result type Float can't be cast to the desired output type Long", "in place"),
        ("can't convert np.ndarray of type numpy.object_.", "objects"),
    ],
)
def test_found_of_what_an_operation_does_not_take(message: str, fix: str) -> None:
    verdict = found(message, line("f(x)", array("x", 3, dtype="int64")))
    assert fix in verdict.actions[0]
    assert "`x` is int64" in verdict.summary


def test_of_a_loss_the_labels_are_to_be_converted() -> None:
    message = "result type Float can't be cast to the desired output type Long"
    verdict = found(message, line("loss = f(x, y)"), calls=[call("binary_cross_entropy_with_logits")])
    assert "target.float()" in verdict.actions[0]


@pytest.mark.parametrize(
    "message", ["CUDA error", "tensors should be the same", "must have the same dtype, but got Float and Float"]
)
def test_clear_of_other_errors(message: str) -> None:
    assert isinstance(tensor_dtype_mismatch.examine(ended("RuntimeError", message, line("f(x)"))), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(tensor_dtype_mismatch.examine(unseen()), Unknown)


def test_the_line_that_makes_the_data_float64_is_the_place() -> None:
    made = layer("Linear", "self.head = nn.Linear(4, 1)")
    origin = {
        "what": "dtype", "name": "X", "dtype": "float64", "shape": [600, 4], "where": f"{FOLDER}/train.py:5", "first": 5,
        "source": ["X = (X - mu) / sd"], "maker": "", "operands": ["mu", "sd"],
    }  # fmt: skip
    given = [call("forward", array("input", 64, 4, dtype="float64"))]
    verdict = found(DIFFERENT, line("net(x)", array("x", 64, 4, dtype="float64")), makers=[made, origin], calls=given)
    assert verdict.where == "train.py:5"
    assert "`X` (600, 4) is float64, which it becomes at train.py:5 with `mu` and `sd`, which are float64" in verdict.summary
