"""Python asks for the value of a tensor that has none yet.

What it is
----------
While a model is built, a data set's function is traced or a step is compiled, tensors are symbolic: they have a shape and a
dtype, and no value. Python's `if`, `float()`, `len()`, `for` and `.numpy()`, and functions of NumPy, OpenCV and others need a
value. Keras 3 also refuses its symbolic tensors to functions of TensorFlow and JAX. For the traced values of JAX see
`tracer_used`.

How we know
-----------
The framework refuses, and the failing line holds a symbolic tensor, or the traceback passes through what traces functions.

When this is wrong
------------------
If the function was meant to run eagerly, and is traced since it is called from a function that is.

What to do
----------
Use the framework's own functions: `keras.ops.where` for an `if`, `keras.ops` in place of NumPy, a layer of your own for
functions of TensorFlow in a Keras model. In `Dataset.map`, wrap what needs values in `tf.numpy_function`.
"""

from __future__ import annotations

import re

from unstall.diagnosis.errors.evidence import create_found, describe_line
from unstall.diagnosis.errors.failures import Failure, Value, find_failure
from unstall.diagnosis.errors.fatal_error import find_unseen_end, format_texts
from unstall.diagnosis.verdict import Clear, Found, Verdict
from unstall.journal.reader import Journal

# Types of symbolic values, by the end of their names.
SYMBOLIC = ("KerasTensor", "SymbolicTensor", "FakeTensor")
_KERAS = re.compile(
    r"A KerasTensor (?:cannot be used as input to a|is symbolic)|KerasTensor cannot be used|Cannot convert a "
    r"symbolic (?:Keras|tf\.keras) input"
)
_TF = re.compile(
    r"[Uu]sing a symbolic `?tf\.Tensor`? as a Python `?bool`?|[Ii]terating over a symbolic `?tf\.Tensor`?"
    r"|[Ii]terating over `?tf\.Tensor`? is not allowed"
    r"|'\w*Tensor' object has no attribute 'numpy'|Cannot convert a symbolic (?:tf\.)?Tensor|NumPy array from a symbolic"
    r"|numpy\(\) is only available when eager execution is enabled|len is not well defined for a symbolic [Tt]ensor"
    r"|(?:int|float)\(\) argument must be .*not '\w*(?:Symbolic)?Tensor'|Expected Ptr<cv::UMat>|is not a numpy array"
    r"|using a `tf\.Tensor` as a Python `bool` is not allowed"
    r"|expected (?:a |an )?(?:str|bytes|int|float|real number|sequence)\b.*, not '?(?:\w+\.)*(?:Symbolic|Eager)?Tensor\b"
    r"|'(?:Symbolic)?Tensor' object (?:cannot be interpreted as an integer"
    r"|has no attribute '(?:decode|encode|split|startswith|endswith|lower|upper|strip|replace|item|tolist|astype|copy)')"
)


def examine(journal: Journal) -> Verdict:
    failure = find_failure(journal)
    if failure is None:
        return find_unseen_end(journal) or Clear("no error ended the program")
    said = " ".join(format_texts(failure.error))
    if _KERAS.search(said):
        return _of_keras(failure)
    if _TF.search(said) and (_is_traced(failure) or _symbolic(failure) is not None):
        return _of_tensorflow(failure)
    return Clear("the error is about something else")


def _symbolic(failure: Failure) -> Value | None:
    """The symbolic value that the innermost line used."""
    raised = failure.raised
    values = (*raised.values, *raised.arguments) if raised is not None else ()
    return next((value for value in values if str(value.facts.get("type", "")).endswith(SYMBOLIC)), None)


def _is_traced(failure: Failure) -> bool:
    """Whether the line ran while a function was traced: by the frames, or since the error is passed on as autograph does."""
    traced = any("autograph" in frame["file"] or "func_graph" in frame["file"] for frame in failure.error.frames)
    return traced or "in user code:" in failure.error.message


def _named(failure: Failure) -> str:
    value = _symbolic(failure)
    return f" `{value.name}` is one: {value.words}." if value is not None else ""


def _of_keras(failure: Failure) -> Found:
    return create_found(
        failure,
        "A symbolic tensor of a Keras model was given to a function that is not one of Keras. It has a shape and "
        "a dtype, and no value"
        f" while the model is built.{_named(failure)}",
        (
            "use the function of keras.ops that does the same, if there is one",
            "or put the call into the call method of a keras.layers.Layer of your own, and use that layer here",
        ),
        _changed_with_keras_3(failure),
    )


def _changed_with_keras_3(failure: Failure) -> tuple[str, ...]:
    is_tensorflow = (
        any("/tensorflow/" in frame["file"] for frame in failure.error.frames) or "TensorFlow function" in failure.error.message
    )
    return ("Keras 2 turned functions of TensorFlow into layers by itself; Keras 3 does not",) if is_tensorflow else ()


def _callers(failure: Failure) -> tuple[str, ...]:
    """The line that had the function traced: that of the map, or of the step."""
    others = [line for line in failure.own_lines if failure.raised is not None and line.where != failure.raised.where]
    return (f"called from {describe_line(others[-1])}",) if others else ()


def _of_tensorflow(failure: Failure) -> Found:
    in_map = any(name in failure.error.message for name in ("_flat_map", "Dataset")) or any(
        "/data/ops/" in frame["file"] for frame in failure.error.frames
    )
    wrap = (
        "or wrap the function in tf.numpy_function, with the dtypes of what it gives: "
        "tf.numpy_function(function, [x], tf.float32)"
    )
    value = _symbolic(failure)
    texts = "use tf.strings in place of Python's functions for texts and paths: tf.strings.split(path, os.sep)[-1]"
    return create_found(
        failure,
        "Python asked a tensor for its value while a function was traced, where tensors have a shape and a dtype, and no value."
        f"{_named(failure)}",
        (
            texts
            if value is not None and value.dtype == "string"
            else "use TensorFlow's functions in place of Python's, NumPy's or OpenCV's: tf.cond or tf.where, tf.shape, tf.image",
            wrap if in_map else "or run the step eagerly while looking for the error: compile(run_eagerly=True)",
        ),
        _callers(failure),
    )
