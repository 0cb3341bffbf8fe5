"""element_signature_mismatch: functions of stages, and generators, against the form of the elements."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, lib
from tests.diagnosis.failed_programs import array, failed, line, unseen
from unstall.diagnosis.causes import element_signature_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown
from unstall.journal.events import ErrorRaised

IN_DATA = "tensorflow/python/data/ops/structured_function.py"
MISSING = "in user code:\n\n\n    TypeError: outer_factory.<locals>.inner_factory.<locals>.tf__flip() missing 1 required positional argument: 'classes'\n"
PARTS: list[dict[str, Any]] = [
    array("", [64, 64, 3], kind="tensorflow.SymbolicTensor"),
    {"type": "dict", "length": 2, "keys": ["boxes", "classes"]},
]
CALLS: list[dict[str, Any]] = [
    {
        "file": "api.py",
        "line": 1,
        "function": "converted_call",
        "values": [{"name": "args", "type": "tuple", "length": 2, "items": PARTS}],
    }
]
OF_TF = "tensorflow.python.framework.errors_impl.InvalidArgumentError"


def test_found_for_a_function_that_lacks_an_argument_with_the_parts_of_an_element() -> None:
    verdict = element_signature_mismatch.examine(
        failed("TypeError", MISSING, line(51, "ds = ds.map(flip)"), within=IN_DATA, calls=CALLS)
    )
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:51"
    assert "`flip` lacks the argument 'classes'." in verdict.summary
    assert "An element has 2 parts: float32 tensor (64, 64, 3); dict with the keys boxes, classes." in verdict.summary
    assert verdict.actions[0] == "let `flip` take 2 arguments"
    assert "unpack it" in verdict.actions[1]


def test_found_for_a_lambda_that_takes_too_few() -> None:
    message = "<lambda>() takes 1 positional argument but 2 were given"
    verdict = element_signature_mismatch.examine(failed("TypeError", message, line(5, "ds.map(lambda x: x)"), within=IN_DATA))
    assert isinstance(verdict, Found)
    assert "The lambda takes 1 argument, and is given 2." in verdict.summary


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "TypeError: `generator` yielded an element of shape (24, 24) where an element of shape (28, 28) was expected.",
            "It yielded the shape (24, 24), and (28, 28) was declared.",
        ),
        (
            "TypeError: `generator` yielded an element that did not match the expected structure. The expected structure was "
            "(tf.float32, tf.int32), but the yielded element was [1, 2, 3].",
            "It yielded [1, 2, 3], and (tf.float32, tf.int32) was declared.",
        ),
    ],
)
def test_found_for_a_generator(message: str, said: str) -> None:
    parts = [{"name": "image", "shape": [28, 28], "dtype": "float32"}]
    stage = {
        "name": "FlatMap", "stage": "from_generator", "where": f"{FOLDER}/train.py:8", "first": 8,
        "source": ["ds = Dataset.from_generator(rows, output_signature=spec)"], "components": parts,
    }  # fmt: skip
    verdict = element_signature_mismatch.examine(
        failed(OF_TF, message, line(12, "for x in ds:"), pipelines=[{"role": "train", "stages": [stage]}])
    )
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith(said)
    assert verdict.where == "train.py:8"


def test_the_yield_of_the_generator_is_named_with_what_it_handled() -> None:
    loop = {"line": 4, "source": "for path in paths:", "values": [{"name": "path", "type": "str", "text": "'b.png'"}]}
    standing = line(6, "        yield image", array("image", [48, 48]), function="read_all", loops=[loop])
    maker = {"what": "generator", "name": "read_all", "where": f"{FOLDER}/train.py:6", "line": standing}
    message = "TypeError: `generator` yielded an element of shape (48, 48) where an element of shape (48, 48, 3) was expected."
    verdict = element_signature_mismatch.examine(failed(OF_TF, message, line(12, "model.fit(data)"), makers=[maker]))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:6"
    assert verdict.summary.endswith("It was yielded at train.py:6 in read_all, while `path` = 'b.png' was handled.")
    assert 'Image.open(path).convert("RGB")' in verdict.actions[0]


@pytest.mark.parametrize("within", ["", "keras/src/trainers/trainer.py"])
def test_clear_of_calls_that_are_not_of_a_data_set(within: str) -> None:
    message = "f() takes 1 positional argument but 2 were given"
    assert isinstance(element_signature_mismatch.examine(failed("TypeError", message, line(5, "f(1, 2)"), within=within)), Clear)


def test_clear_of_a_call_inside_the_function_that_the_data_set_calls() -> None:
    """Without autograph the error passes through as it is: what fits the elements calls another function wrongly."""
    journal = failed("TypeError", "scale() missing 1 required positional argument: 'offset'", line(5, "return scale(image, 2.0)"))
    error = next(iter(journal.of(ErrorRaised)))
    error.frames.append(lib(IN_DATA, "wrapper_helper", 140))
    assert isinstance(element_signature_mismatch.examine(journal), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(element_signature_mismatch.examine(unseen()), Unknown)


def test_the_parts_of_an_element_are_called_as_the_function_before_calls_them() -> None:
    parts = [{"type": "tensorflow.Tensor", "shape": [4], "dtype": "float32"}] * 2
    calls = [
        {"file": "map_op.py", "line": 1, "function": "wrapper", "values": [{"name": "args", "type": "tuple", "items": parts}]}
    ]
    stage = {
        "name": "Map", "stage": "map", "where": f"{FOLDER}/train.py:30", "first": 30, "source": ["ds = ds.map(weigh)"],
        "arguments": {"function": "weigh", "function_where": f"{FOLDER}/train.py:22"}, "returns": ["image", "weights"],
    }  # fmt: skip
    row = line(32, "ds = ds.map(flip)")
    verdict = element_signature_mismatch.examine(
        failed(
            "TypeError", "tf__flip() takes 1 positional argument but 2 were given", row, within=IN_DATA,
            calls=calls, pipelines=[{"role": "", "stages": [stage]}],
        )
    )  # fmt: skip
    assert isinstance(verdict, Found)
    assert "2 parts: `image` float32 tensor (4,); `weights` float32 tensor (4,)." in verdict.summary
    assert verdict.summary.endswith("So `weigh` at train.py:22 returns it, the function of the map at train.py:30.")
