"""dtype_mismatch: which names have which dtype, and where they were made."""

from __future__ import annotations

import pytest

from tests.diagnosis.failed_programs import array, failed, line, unseen
from unstall.diagnosis.causes import dtype_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown

EAGER = "cannot compute Mul as input #1(zero-based) was expected to be a float tensor but is a double tensor [Op:Mul] name: "
OF_TF = "tensorflow.python.framework.errors_impl.InvalidArgumentError"
TRACED = (
    'in user code:\n\n    File "/home/user/project/train.py", line 24, in dice  *\n        inter = y_true * y_pred\n\n'
    "    TypeError: Input 'y' of 'Mul' Op has type float16 that does not match type float32 of argument 'x'.\n"
)


def test_found_with_the_names_and_where_they_were_made() -> None:
    anchors = array("anchors", [16, 4], "float64", "tensorflow.EagerTensor", made_at=8, made_by=["anchors = tf.constant(make())"])
    row = line(18, "xy = offsets * anchors", array("offsets", [8, 16, 4], kind="tensorflow.EagerTensor"), anchors)
    verdict = dtype_mismatch.examine(failed(OF_TF, EAGER, row))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:18"
    assert verdict.summary.endswith("`offsets` is float32, `anchors` is float64.")
    assert "where it is made" in verdict.actions[0]
    assert "`anchors` was made at train.py:8: anchors = tf.constant(make())" in [each.claim for each in verdict.evidence]


def test_found_in_a_traced_function_by_its_arguments() -> None:
    arguments = [array("y_true", [8, 32], "float32"), array("y_pred", [8, 32], "float16")]
    calls = [{"file": "/tmp/generated.py", "line": 10, "function": "tf__dice", "values": arguments}]
    verdict = dtype_mismatch.examine(failed("TypeError", TRACED, line(50, "step(x, y)"), calls=calls))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:24"
    assert verdict.summary.endswith("`y_true` is float32, `y_pred` is float16.")
    assert "mixed precision" in verdict.actions[0]


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        (
            "ValueError",
            "Tensor conversion requested dtype float32 for Tensor with dtype float64: <tf.Tensor>",
            "A tensor is float64, and float32 is needed",
        ),
        (
            "TypeError",
            "Input 'input' of 'StringUpper' Op has type int32 that does not match expected type of string.",
            "An operation was given int32, and takes string",
        ),
        ("ValueError", "Failed to convert a NumPy array to a Tensor (Unsupported object type list).", "Python objects"),
        ("ValueError", "Invalid dtype: object", "Python objects"),
        ("ValueError", "Invalid dtype: str3", "Texts were given"),
        (
            "TypeError",
            "Value for attr 'T' of uint8 is not in the list of allowed values: bfloat16, half, float, double",
            "given uint8, which it cannot take. It takes bfloat16, half, float, double.",
        ),
        (
            "numpy._core._exceptions._UFuncOutputCastingError",
            "Cannot cast ufunc 'add' output from dtype('float64') to dtype('uint8') with casting rule 'same_kind'",
            "The result is float64, and is to be stored as uint8",
        ),
    ],
)
def test_found_in_other_words(kind: str, message: str, said: str) -> None:
    verdict = dtype_mismatch.examine(failed(kind, message, line(18, "f(x)")))
    assert isinstance(verdict, Found)
    assert said in verdict.summary


def test_no_cast_is_advised_to_or_from_texts() -> None:
    message = "Input 'input' of 'StringUpper' Op has type int32 that does not match expected type of string."
    verdict = dtype_mismatch.examine(failed("TypeError", message, line(18, "f(x)")))
    assert isinstance(verdict, Found)
    assert "tf.strings.as_string" in verdict.actions[0] and not any("tf.cast" in action for action in verdict.actions)


def test_clear_of_other_errors() -> None:
    message = "could not convert string to float: '0,5'"
    assert isinstance(dtype_mismatch.examine(failed("ValueError", message, line(18, "float(x)"))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(dtype_mismatch.examine(unseen()), Unknown)
