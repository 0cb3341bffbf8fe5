"""input_shape_mismatch: what the layer takes, what came, and which of the two lines is to be changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, py, started
from unstall.diagnosis.causes import input_shape_mismatch
from unstall.diagnosis.verdict import Clear, Found, Unknown
from unstall.journal.events import ErrorInspected, ErrorRaised, FrameworkLoaded, ProcessEnded, ProgramStarted

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
CODE = "        self.head = nn.Linear(100, 10)"
MULTIPLIED = "mat1 and mat2 shapes cannot be multiplied (4x1568 and 100x10)"


def tensor(name: str, shape: list[int]) -> dict[str, Any]:
    return {"name": name, "type": "torch.Tensor", "shape": shape, "dtype": "float32", "in_failing": True}


def line(number: int, function: str, source: str, *values: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": f"{FOLDER}/train.py", "line": number, "function": function, "first": number, "source": [source],
        "values": list(values),
    }  # fmt: skip


def layer(kind: str, name: str, source: str = CODE, **options: int) -> dict[str, Any]:
    return {
        "what": "layer", "class": kind, "name": name, "where": f"{FOLDER}/model.py:10", "first": 10, "source": [source],
        "options": options,
    }  # fmt: skip


def examined(message: str, *lines: dict[str, Any], kind: str = "RuntimeError", given: Any = None, **seen: Any) -> Any:
    error = ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=[py("train.py", "<module>", 43)], fatal=True)
    calls = [{"file": "linear.py", "line": 1, "function": "forward", "values": [tensor("input", given)]}] if given else []
    event = ErrorInspected(at=T0 + 9, error_at=T0 + 9, lines=list(lines), calls=calls, **seen)
    loaded = (ProgramStarted(at=T0 + 1, pid=1), FrameworkLoaded(at=T0 + 1, name="torch"))
    return input_shape_mismatch.examine(journal(started(), *loaded, error, event, CRASHED))


def test_found_for_the_batch_that_the_model_is_given_with_the_change_of_its_layer() -> None:
    verdict = examined(
        MULTIPLIED,
        line(43, "<module>", "out = model(batch)", tensor("batch", [4, 1568])),
        line(20, "forward", "return self.head(x)", tensor("x", [4, 1568])),
        given=[4, 1568],
        makers=[layer("Linear", "head", in_features=100, out_features=10)],
    )
    assert isinstance(verdict, Found)
    assert (
        "The layer head (Linear, in_features=100, out_features=10) expects 100 features at side -1 of its input, and was given "
        "(4, 1568)"
    ) in verdict.summary


def test_what_other_layers_make_is_not_what_the_model_is_given() -> None:
    verdict = examined(
        MULTIPLIED,
        line(43, "<module>", "out = model(batch)", tensor("batch", [4, 3, 16, 16])),
        line(20, "forward", "return self.head(x)", tensor("x", [4, 1568])),
        given=[4, 1568],
        makers=[layer("Linear", "head", in_features=100, out_features=10)],
    )
    assert isinstance(verdict, Clear)


def test_found_for_the_batch_itself_without_a_change_as_either_may_be_wrong() -> None:
    verdict = examined(
        "Given groups=1, weight of size [8, 3, 3, 3], expected input[4, 1, 28, 28] to have 3 channels, but got 1 channels instead",
        line(43, "<module>", "out = model(batch)", tensor("batch", [4, 1, 28, 28])),
        given=[4, 1, 28, 28],
        makers=[layer("Conv2d", "stem", "self.stem = nn.Conv2d(3, 8, 3)", in_channels=3)],
    )
    assert isinstance(verdict, Found)
    assert (
        "expects 3 channels at side -3 of its input, and was given (4, 1, 28, 28), which is the shape of `batch`."
        in verdict.summary
    )
    assert verdict.changes == ()


def test_found_by_what_keras_says_of_a_layer() -> None:
    message = (
        "Exception encountered when calling Sequential.call().\n\n\x1b[1mInput 0 with name 'None' of layer 'stem' is incompatible "
        "with the layer: expected axis -1 of input shape to have value 3, but received input with shape (32, 28, 28, 1)\x1b[0m\n\n"
        "Arguments received by Sequential.call():\n  • inputs=jnp.ndarray(shape=(32, 28, 28, 1), dtype=float32)"
    )
    verdict = examined(message, line(43, "<module>", "model.fit(x, y)"), kind="ValueError", makers=[layer("Conv2D", "stem")])
    assert isinstance(verdict, Found)
    assert verdict.where == "model.py:10"
    assert "expects 3 at side -1 of its input, and was given (32, 28, 28, 1)." in verdict.summary


@pytest.mark.parametrize(
    "message",
    [
        'Input 0 of layer "functional" is incompatible with the layer: expected shape=(None, 28, 28, 3), found shape=(28, 28, 3)',
        'Input 0 of layer "stem" is incompatible with the layer: expected min_ndim=4, found ndim=3. Full shape received: (28, 28, 3)',
        "Invalid input shape for input Tensor(\"x:0\"). Expected shape (None, 28, 28, 3), but input has incompatible shape (28, 28, 3)",
    ],
)  # fmt: skip
def test_a_data_set_that_is_not_batched_is_known_by_its_stages(message: str) -> None:
    stages = [{"name": "Map", "stage": "map", "where": f"{FOLDER}/train.py:30", "first": 30, "source": ["data = data.map(load)"]}]
    verdict = examined(
        message, line(43, "<module>", "model.fit(data)"), kind="ValueError", pipelines=[{"role": "", "stages": stages}]
    )
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("The data set is not batched.")
    assert verdict.actions[0].startswith("batch the data set")


def test_a_single_example_lacks_the_side_of_the_batch() -> None:
    message = (
        'Input 0 of layer "stem" is incompatible with the layer: expected ndim=4, found ndim=3. Full shape received: (28, 28, 3)'
    )
    verdict = examined(message, line(43, "<module>", "model.predict(image)"), kind="ValueError")
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("The first side, that of the batch, is missing.")
    assert verdict.where == "train.py:43"


def test_arrays_are_not_called_a_data_set_and_the_sides_of_the_layer_are_named() -> None:
    message = "Input 0 with name 'None' of layer 'lstm' is incompatible with the layer: expected ndim=3, found ndim=2. Full shape received: (None, 24)"
    stages = [{"name": "Range", "stage": ""}, {"name": "Map", "stage": ""}]  # Keras's own, of arrays
    given = line(14, "<module>", "model.fit(x, y)", {**tensor("x", [976, 24]), "type": "numpy.ndarray"})
    verdict = examined(
        message, given, kind="ValueError", makers=[layer("LSTM", "lstm")], pipelines=[{"role": "train", "stages": stages}]
    )
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith("was given (None, 24). A side is missing. LSTM takes (batch, steps, features).")
    assert verdict.actions == (
        "add the side that is missing, as that of the features, where each step has one number: x[..., None]",
    )
    assert "`x`: float32 array (976, 24)" in verdict.evidence[0].claim


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            'Input 0 of layer "stem" is incompatible with the layer: expected min_ndim=4, found ndim=3. Full shape received: '
            "(None, 28, 28)",
            "was given (None, 28, 28). A side is missing.",
        ),
        (
            'Input 0 of layer "stem" is incompatible with the layer: expected min_ndim=2, found ndim=1. Full shape received: (32,)',
            "was given (32,). A side is missing: that of the batch, or another one.",
        ),
        (
            'Invalid input shape for input Tensor("x:0"). Expected shape (None, 5, 8), but input has incompatible shape (None, 8)',
            "was given (None, 8). A side is missing.",
        ),
    ],
)
def test_it_is_not_said_to_be_that_of_the_batch_where_it_may_be_another(message: str, said: str) -> None:
    stages = [
        {"name": "PaddedBatchV2", "stage": "", "where": f"{FOLDER}/train.py:30", "first": 30, "source": ["d.padded_batch(4)"]}
    ]
    seen = {"pipelines": [{"role": "", "stages": stages}]}
    verdict = examined(message, line(43, "<module>", "model.fit(x)"), kind="ValueError", **seen)
    assert isinstance(verdict, Found)
    assert verdict.summary.endswith(said)
    assert not verdict.actions[0].startswith("batch the data set")


def test_elements_without_a_known_shape_with_the_map_that_calls_python() -> None:
    parts = [{"name": "0", "shape": None, "dtype": "float32"}, {"name": "1", "shape": [-1], "dtype": "int32"}]
    data = {"name": "data", "type": "tensorflow._BatchDataset", "components": parts, "in_failing": True}
    stage = {
        "name": "Map", "stage": "map", "where": f"{FOLDER}/train.py:18", "first": 18, "source": ["data = rows.map(load)"],
        "does": ["python"], "arguments": {"function": "load"},
    }  # fmt: skip
    message = "as_list() is not defined on an unknown TensorShape."
    verdict = examined(
        message, line(26, "main", "model.fit(data)", data), kind="ValueError", pipelines=[{"role": "", "stages": [stage]}]
    )
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:18"
    assert "The elements of `data` have no known shape (part 1)" in verdict.summary and "in `load`," in verdict.summary
    assert "set_shape" in verdict.actions[0]
    known = {**data, "components": parts[1:]}
    assert isinstance(examined(message, line(26, "main", "model.fit(data)", known), kind="ValueError"), Clear)


@pytest.mark.parametrize(
    ("message", "given"),
    [
        (MULTIPLIED, None),  # in a line of the program's own, and no layer
        ("CUDA error: an illegal memory access", [4, 1568]),
        ("Found dtype Double but expected Float", [4, 1568]),
    ],
)
def test_clear_where_no_layer_refused_a_shape(message: str, given: Any) -> None:
    makers = [layer("Linear", "head", in_features=100)] if given else []
    assert isinstance(examined(message, line(43, "<module>", "a @ b"), given=given, makers=makers), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(input_shape_mismatch.examine(journal(started(), CRASHED)), Unknown)


@pytest.mark.parametrize(("shape", "is_turned"), [([16, 64, 64, 3], True), ([16, 64, 3, 64], False), ([16, 1, 64, 64], False)])
def test_images_whose_channels_stand_last(shape: list[int], is_turned: bool) -> None:
    message = "Given groups=1, weight of size [8, 3, 3, 3], expected input[16, 64, 64, 3] to have 3 channels, but got 64 channels"
    row = line(43, "<module>", "loss = model(images)", tensor("images", shape))
    made = layer("Conv2d", "stem", "        self.stem = nn.Conv2d(3, 8, 3)", in_channels=3)
    verdict = examined(message, row, given=shape, makers=[made])
    assert isinstance(verdict, Found)
    assert ("the channels seem to stand last" in verdict.summary) is is_turned
    assert ("x.permute(0, 3, 1, 2) of a batch, x.permute(2, 0, 1) of one image" in verdict.actions[0]) is is_turned
