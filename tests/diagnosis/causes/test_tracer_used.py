"""tracer_used: which value is a tracer, what needed its values, and in which traced function."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.error_builders import array, ended, line, unseen
from unstall.diagnosis.causes import tracer_used
from unstall.diagnosis.verdict import Clear, Found, Unknown

TRACED = (
    f"\nThe error occurred while tracing the function step at {FOLDER}/train.py:40 for jit. This concrete value was not available in "
    "Python because it depends on the value of the argument count.\nSee https://docs.jax.dev/"
)


def found(kind: str, message: str, *lines: dict[str, Any]) -> Found:
    verdict = tracer_used.examine(ended(kind, message, *lines))
    assert isinstance(verdict, Found)
    return verdict


def tracer(name: str, *shape: int) -> dict[str, Any]:
    return array(name, *shape, kind="jax.DynamicJaxprTracer")


def test_found_in_an_if_with_the_tracer_and_the_traced_function() -> None:
    message = f"Attempted boolean conversion of traced array with shape bool[].{TRACED}"
    values = (tracer("count"), array("limit", kind="jax.ArrayImpl"))
    verdict = found("jax.errors.TracerBoolConversionError", message, line("if count > limit:", *values))
    assert verdict.where == "train.py:43"
    assert verdict.summary.startswith("`count` is a tracer: values cannot be read")
    assert "The function `step` is traced for jit, and the value depends on its argument `count`." in verdict.summary
    assert "jnp.where" in verdict.actions[0]


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("jax.errors.TracerArrayConversionError", "__array__() was called on traced array with shape float32[4]", "NumPy needs"),
        ("jax.errors.TracerIntegerConversionError", "The __index__() method was called on traced array", "a whole number"),
        ("jax.errors.NonConcreteBooleanIndexError", "Array boolean indices must be concrete; got bool[8]", "boolean mask"),
        ("jax.errors.ConcretizationTypeError", "Abstract tracer value encountered", "a concrete value"),
        (
            "jax.errors.ConcretizationTypeError",
            "The size argument of jnp.nonzero must be statically specified",
            "size of the result",
        ),
        ("TypeError", "Shapes must be 1D sequences of concrete values of integer type, got (JitTracer(~int32[]), 2).", "a shape"),
        ("IndexError", "Slice entries must be static integers. Got slice(None, JitTracer(~int32[]), None)", "end of a slice"),
        ("TypeError", "unsupported format string passed to DynamicJaxprTracer.__format__", "printed"),
    ],
)
def test_found_of_each_use(kind: str, message: str, said: str) -> None:
    verdict = found(kind, message, line("y = f(x)", tracer("x", 4)))
    assert verdict.summary.startswith("`x` is a tracer")
    assert said in verdict.summary


def test_no_value_is_named_that_is_no_tracer() -> None:
    verdict = found("jax.errors.TracerBoolConversionError", "Attempted boolean conversion", line("if f(x):", array("x", 4)))
    assert verdict.summary.startswith("A value in this line is a tracer")


def test_found_of_a_tracer_that_was_kept_with_the_line_that_computed_it() -> None:
    message = (
        "Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing for a reference to an intermediate "
        "value with type float32[3] wrapped in a DynamicJaxprTracer to escape the scope of the transformation.\nThe leaked "
        f"intermediate value was created on line {FOLDER}/train.py:39:16 (step)."
    )
    verdict = found("jax.errors.UnexpectedTracerError", message, line("kept[0] + 1", tracer("kept[0]", 3)))
    assert verdict.summary.startswith("`kept[0]` (float32[3]) was computed at train.py:39 while JAX traced a function")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Non-hashable static arguments are not supported. An error occurred while trying to hash an object of type <class 'list'>, [1, 2].", "of the type list"),
        ("Error interpreting argument to <function f at 0x7f> as an abstract array. The problematic value is of type <class 'str'> and was passed to the function at path name.\nThis typically means", "`name` of the type str"),
        ("Argument 'mean' of type <class 'str'> is not a valid JAX type.", "the value 'mean' of the type str"),
    ],
)  # fmt: skip
def test_found_of_arguments(message: str, said: str) -> None:
    assert said in found("TypeError", message, line("f(x, name)")).summary


def test_clear_of_another_error() -> None:
    assert isinstance(tracer_used.examine(ended("ValueError", "no such row", line("f(x)"))), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(tracer_used.examine(unseen()), Unknown)


def test_arguments_of_the_traced_function_that_are_sizes_are_to_be_static() -> None:
    traced = TRACED.replace("function step", "function positions")
    sizes = [tracer("length") | {"is_argument": True}, tracer("width") | {"is_argument": True}]
    row = line("table = jnp.zeros((length, width))", *sizes, function="positions")
    verdict = found("TypeError", f"Shapes must be 1D sequences of concrete values of integer type, got (x, y).{traced}", row)
    assert 'jax.jit(positions, static_argnames=("length", "width"))' in verdict.actions[0]
    assert verdict.actions[0].startswith("if they are settings")


def test_a_size_that_is_computed_from_data_cannot_be_static() -> None:
    traced = TRACED.replace("function step", "function positions")
    row = line("table = jnp.zeros(length)", tracer("length"), function="positions")
    verdict = found("TypeError", f"Shapes must be 1D sequences of concrete values of integer type, got x.{traced}", row)
    assert 'static_argnames=("length"' not in " ".join(verdict.actions)


@pytest.mark.parametrize(("statement", "is_loop"), [("If", False), ("While", True)])
def test_the_advice_is_about_the_statement(statement: str, is_loop: bool) -> None:
    row = line("if a > b:", tracer("a"), statement=statement)
    verdict = found("jax.errors.TracerBoolConversionError", f"Attempted boolean conversion of traced array.{TRACED}", row)
    assert any("while_loop" in action for action in verdict.actions) is is_loop
    assert any("jnp.where" in action for action in verdict.actions) is not is_loop


def test_several_arguments_are_listed_one_by_one() -> None:
    traced = TRACED.replace("argument count", "arguments w, x, and y")
    verdict = found(
        "jax.errors.TracerBoolConversionError", f"Attempted boolean conversion.{traced}", line("if a > b:", tracer("a"))
    )
    assert "depends on its arguments `w`, `x` and `y`." in verdict.summary
