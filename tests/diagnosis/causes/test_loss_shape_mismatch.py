"""loss_shape_mismatch: targets and outputs that a loss cannot compare, by its arguments or by what Keras says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, started
from tests.diagnosis.learning_curve_builders import inside
from tests.diagnosis.probe_fact_builders import seen
from unstall.diagnosis.causes import loss_shape_mismatch
from unstall.diagnosis.verdict import Clear, Found, LineChange, Unknown
from unstall.journal.events import ErrorInspected, ErrorRaised, ProcessEnded

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
RANKS = "Arguments `target` and `output` must have the same rank (ndim). Received: target.shape=(32,), output.shape=(32, 10)"
COMPILE = 'model.compile("adam", "categorical_crossentropy")'
USER = {"function": "<module>", "file": f"{FOLDER}/train.py", "line": 61, "module": ""}


def crashed(message: str, *inner: dict[str, Any], **more: Any) -> object:
    frames: Any = [*inner, USER]
    error = ErrorRaised(at=T0 + 9, kind=more.pop("kind", "ValueError"), message=message, frames=frames, fatal=True)
    line = {"file": f"{FOLDER}/train.py", "line": 61, "function": "<module>", "first": 61, "source": ["model.fit(x, y)"]}
    event = ErrorInspected(at=T0 + 9, error_at=T0 + 9, lines=[{**line, **more.pop("line", {})}], **more)
    return loss_shape_mismatch.examine(
        journal(started(), inside(), seen("compiled", 1, where=f"{FOLDER}/train.py:55"), error, event, CRASHED)
    )


def frame(file: str, function: str) -> dict[str, Any]:
    return {"function": function, "file": f"/x/site-packages/{file}", "line": 13, "module": ""}


@pytest.mark.parametrize(
    "message",
    [
        RANKS,
        'in user code:\n  File "/x/site-packages/tf_keras/src/losses.py", line 143\n  ValueError: Shapes (None, 1) and (None, 10) are incompatible',
    ],
)
def test_found_in_a_loss_of_keras_with_the_change_of_the_compile_line(message: str) -> None:
    made = {"what": "compile", "where": f"{FOLDER}/train.py:55", "first": 55, "source": [COMPILE]}
    verdict = crashed(message, makers=[made])
    assert isinstance(verdict, Found)
    assert "sparse_categorical_crossentropy" in verdict.actions[0]
    assert verdict.where == "train.py:55"
    after = ('model.compile("adam", "sparse_categorical_crossentropy")',)
    assert verdict.changes == (LineChange("train.py:55", (COMPILE,), after, "if the labels are class numbers"),)


def test_the_shapes_are_told_by_what_they_are_of() -> None:
    verdict = crashed(RANKS)
    assert isinstance(verdict, Found)
    assert "labels of (32,) and outputs of (32, 10)" in verdict.summary
    other = crashed("Dimensions must be equal, but are 5 and 3 for 'compile_loss/mse/sub' with input shapes: [?,5], [?,3].")
    assert isinstance(other, Found)
    assert "(None, 5) and (None, 3)" in other.summary
    assert other.actions[0] == "give labels of the outputs' shape"


@pytest.mark.parametrize(
    ("name", "message", "outputs", "targets", "do"),
    [
        ("binary_cross_entropy_with_logits", "Target size (torch.Size([4])) must be the same as input size (torch.Size([4, 1]))",
         [4, 1], [4], "take the last side off the outputs"),
        ("cross_entropy", "0D or 1D target tensor expected, multi-target not supported", [4, 10], [4, 1], "cross_entropy takes class"),
        ("cross_entropy", "Expected input batch_size (8) to match target batch_size (4).", [8, 10], [4], "give the loss outputs and"),
        ("mse_loss", "The size of tensor a (10) must match the size of tensor b (3) at non-singleton dimension 1", [4, 10], [4, 3],
         "give targets of the outputs' shape"),
    ],
)  # fmt: skip
def test_found_in_a_loss_of_pytorch_by_its_arguments(
    name: str, message: str, outputs: list[int], targets: list[int], do: str
) -> None:
    def value(called: str, shape: list[int]) -> dict[str, Any]:
        return {"name": called, "type": "torch.Tensor", "shape": shape, "dtype": "float32"}

    values = [value("input", outputs), value("target", targets)]
    calls = [{"file": "functional.py", "line": 1, "function": name, "values": values}]
    verdict = crashed(message, frame("torch/nn/functional.py", name), kind="RuntimeError", calls=calls)
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:61"
    assert f"{name} is given outputs of shape ({', '.join(map(str, outputs))}" in verdict.summary
    assert verdict.actions[0].startswith(do)


def test_clear_when_the_error_arose_in_a_loss_of_ones_own() -> None:
    own = {"function": "my_loss", "file": f"{FOLDER}/losses.py", "line": 6, "module": ""}
    assert isinstance(crashed(RANKS, own, frame("keras/src/losses/loss.py", "call")), Clear)
    quoted = f'File "{FOLDER}/losses.py", line 6, in my_loss: Shapes (32, 1) and (32, 10) are incompatible'
    assert isinstance(crashed(quoted), Clear)


def test_clear_when_an_error_about_shapes_has_nothing_to_do_with_a_loss() -> None:
    assert isinstance(crashed("inputs must have the same rank", frame("keras/src/ops/numpy.py", "concatenate")), Clear)
    sizes = "The size of tensor a (10) must match the size of tensor b (3) at non-singleton dimension 1"
    assert isinstance(crashed(sizes, kind="RuntimeError"), Clear)


def test_unknown_where_nothing_inside_was_seen() -> None:
    assert isinstance(loss_shape_mismatch.examine(journal(started(), CRASHED)), Unknown)


@pytest.mark.parametrize(
    ("name", "dtype", "is_named"),
    [
        ("binary_cross_entropy_with_logits", "int64", True),
        ("binary_cross_entropy_with_logits", "float32", False),
        ("mse_loss", "int64", False),
    ],
)
def test_whole_numbers_that_a_loss_would_refuse_next(name: str, dtype: str, is_named: bool) -> None:
    outputs = {"name": "input", "type": "torch.Tensor", "shape": [16, 1], "dtype": "float32"}
    targets = {"name": "target", "type": "torch.Tensor", "shape": [16], "dtype": dtype}
    calls = [{"file": "functional.py", "line": 1, "function": name, "values": [outputs, targets]}]
    verdict = crashed("Target size (torch.Size([16])) must be the same as input size (torch.Size([16, 1]))", calls=calls)
    assert isinstance(verdict, Found)
    assert ("The targets are int64, too, and it needs float32" in verdict.summary) is is_named
    assert ("targets.float()" in " ".join(verdict.actions)) is is_named
