"""array_donated: by JAX's refusal, the names whose arrays are deleted, and the lines that donate."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER
from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import array_donated
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

JAX = {"jax": "0.10.2"}
DONATES = {
    "what": "donates",
    "name": "",
    "where": f"{FOLDER}/train.py:4",
    "first": 4,
    "source": ["step = jax.jit(step, donate_argnums=0)"],
}


def deleted(name: str) -> dict[str, Any]:
    return {"what": "deleted", "name": name}


def examine(
    kind: str, message: str, *makers: dict[str, Any], made_by: str = "", versions: dict[str, str] | None = None
) -> Verdict:
    best = {"name": "best", "type": "dict", "length": 1, "keys": ["w"], "in_failing": True}
    if made_by:
        best.update(made_at=9, made_by=[made_by])
    row = line(12, "print(evaluate(best, x))", best)
    return array_donated.examine(failed(kind, message, row, versions=JAX if versions is None else versions, makers=list(makers)))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("RuntimeError", "Array has been deleted with shape=float32[2]."),
        ("ValueError", "INVALID_ARGUMENT: Invalid buffer passed to Execute() as argument 0: Buffer has been deleted or donated."),
        ("jaxlib.xla_extension.XlaRuntimeError", "INVALID_ARGUMENT: CopyToHostAsync() called on deleted or donated buffer"),
    ],
)
def test_found_in_the_words_of_each_version(kind: str, message: str) -> None:
    verdict = examine(kind, message, deleted("best['w']"), DONATES)
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith("`best['w']` was given to a function")
    assert "compiled at train.py:4" in verdict.summary
    assert verdict.where == "train.py:12"


def test_another_name_for_the_same_array_is_to_be_a_copy() -> None:
    verdict = examine("RuntimeError", "Array has been deleted", deleted("best['w']"), DONATES, made_by="best = params")
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:9"
    assert any("best = jax.tree.map(jnp.copy, params)" in action for action in verdict.actions)


def test_the_result_of_a_call_is_no_other_name() -> None:
    verdict = examine("RuntimeError", "Array has been deleted", deleted("best['w']"), DONATES, made_by="best = init(key)")
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:12"


def test_where_nothing_in_the_program_donates() -> None:
    verdict = examine("RuntimeError", "Array has been deleted with shape=float32[2].")
    assert isinstance(verdict, Found)
    assert "or deleted" in verdict.summary


def test_clear_of_other_errors() -> None:
    assert isinstance(examine("RuntimeError", "The array is empty"), Clear)
    assert isinstance(examine("RuntimeError", "Array has been deleted", versions={"torch": "2.13"}), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(array_donated.examine(unseen()), Unknown)


@pytest.mark.parametrize(
    ("made_by", "of"),
    [
        ("score, best = 0.5, state.params", "state.params"),
        ("best: dict = params", "params"),
        ("self.best = best = params", "params"),
    ],
)
def test_another_name_in_an_assignment_of_several(made_by: str, of: str) -> None:
    verdict = examine("RuntimeError", "Array has been deleted", deleted("best['w']"), DONATES, made_by=made_by)
    assert isinstance(verdict, Found)
    assert verdict.actions[0] == f"copy it at train.py:9: best = jax.tree.map(jnp.copy, {of})"


@pytest.mark.parametrize(
    "made_by", ["score, best = evaluate(state)", "best = copy(params)", "other, best = both", "best += params"]
)
def test_what_was_computed_is_not_called_another_name(made_by: str) -> None:
    verdict = examine("RuntimeError", "Array has been deleted", deleted("best['w']"), DONATES, made_by=made_by)
    assert isinstance(verdict, Found)
    assert "another name" not in verdict.summary
