"""symbolic_value_used: Python and foreign functions on tensors that have no value yet."""

from __future__ import annotations

import pytest

from tests.diagnosis.failed_programs import array, failed, line, unseen
from unstall.diagnosis.causes import symbolic_value_used, tracer_used
from unstall.diagnosis.verdict import Clear, Found, Unknown

KERAS = "A KerasTensor cannot be used as input to a TensorFlow function. A KerasTensor is a symbolic placeholder for a shape and dtype"
IN_MAP = 'in user code:\n\n    File "/home/user/project/train.py", line 12, in load  *\n        name = path.numpy()\n\n    AttributeError: {}\n'


def test_found_for_a_tensor_of_keras_in_a_function_of_tensorflow() -> None:
    row = line(33, "boxes = tf.expand_dims(boxes, 2)", array("boxes", [-1, 8, 4], kind="keras.KerasTensor"))
    verdict = symbolic_value_used.examine(failed("ValueError", KERAS, row, within="tensorflow/ops.py"))
    assert isinstance(verdict, Found)
    assert "`boxes` is one: float32 tensor (None, 8, 4)." in verdict.summary
    assert "keras.layers.Layer" in verdict.actions[1]
    assert any("Keras 3 does not" in each.claim for each in verdict.evidence)


@pytest.mark.parametrize("kind", ["SymbolicTensor", "Tensor"], ids=["2.16 and later", "before"])
def test_found_in_the_function_of_a_map(kind: str) -> None:
    message = IN_MAP.format(f"'{kind}' object has no attribute 'numpy'")
    verdict = symbolic_value_used.examine(
        failed("AttributeError", message, line(20, "ds = ds.map(load)"), within="tensorflow/python/data/ops/map_op.py")
    )
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:12"
    assert "tf.numpy_function" in verdict.actions[1]


@pytest.mark.parametrize(
    "message",
    [
        "expected str, bytes or os.PathLike object, not SymbolicTensor",
        "'SymbolicTensor' object has no attribute 'split'",
        "'SymbolicTensor' object cannot be interpreted as an integer",
    ],
)
def test_found_for_a_text_that_python_is_given_with_the_line_of_the_map(message: str) -> None:
    path = array("path", [], dtype="string", kind="tensorflow.SymbolicTensor")
    outer, inner = line(21, "data = files.map(load)"), line(14, "name = os.path.basename(path)", path, function="load")
    verdict = symbolic_value_used.examine(
        failed(
            "TypeError",
            f"in user code:\n\n    TypeError: {message}\n",
            outer,
            inner,
            within="tensorflow/python/data/ops/map_op.py",
        )
    )
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("`path` is one: string tensor ().")
    assert "tf.strings" in verdict.actions[0]
    assert any("called from train.py:21: data = files.map(load)" in each.claim for each in verdict.evidence)


@pytest.mark.parametrize("message", ["expected str, bytes or os.PathLike object, not Tensor", "expected Tensor, not list"])
def test_clear_for_the_same_words_of_a_tensor_that_has_a_value(message: str) -> None:
    given = array("path", [], dtype="string", kind="tensorflow.EagerTensor")
    assert isinstance(symbolic_value_used.examine(failed("TypeError", message, line(9, "os.path.basename(path)", given))), Clear)


def test_a_traced_value_of_jax_is_for_another_cause() -> None:
    message = "Abstract tracer value encountered where concrete value is expected: traced array with shape float32[]"
    row = line(18, "share = float(mean)", array("mean", [], kind="jax.DynamicJaxprTracer"))
    journal = failed("jax.errors.ConcretizationTypeError", message, row)
    assert isinstance(symbolic_value_used.examine(journal), Clear)
    assert isinstance(tracer_used.examine(journal), Found)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("AttributeError", "'Tensor' object has no attribute 'numpy'"),
        ("TypeError", "image is not a numpy array, neither a scalar"),
    ],
)
def test_clear_where_nothing_was_traced(kind: str, message: str) -> None:
    assert isinstance(symbolic_value_used.examine(failed(kind, message, line(9, "x.numpy()", array("x", [3])))), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(symbolic_value_used.examine(unseen()), Unknown)
