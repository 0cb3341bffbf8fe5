"""strategy_scope_missed: by the refusals of TensorFlow and Keras, and the lines that made the model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.failed_programs import failed, line, unseen
from unstall.diagnosis.causes import strategy_scope_missed
from unstall.diagnosis.verdict import Clear, Found, Unknown, Verdict

MIRRORED = "<tensorflow.python.distribute.mirrored_strategy.MirroredStrategy object at 0x7f>"
OUTSIDE = [
    f'Need to be inside "with strategy.scope()" for {MIRRORED}',
    f"Variable (<tf.Variable 'dense/kernel:0' shape=(3, 1) dtype=float32>) was not created in the distribution strategy scope of ({MIRRORED}).",
]
UPDATED = (
    'in user code:\n\n    File "/x/train.py", line 19, in train_step  *\n        return strategy.run(step, args=(x, y))\n'
    '    File "/x/site-packages/keras/src/backend/tensorflow/optimizer.py", line 134, in _distributed_tf_update_step  **\n'
    "        distribution.extended.update(\n\n    AssertionError: \n"
)


def made(name: str, kind: str, at: int, code: str) -> dict[str, Any]:
    return {"name": name, "type": kind, "in_failing": True, "made_at": at, "made_by": [code]}


MODEL = made("model", "keras.Sequential", 7, "model = keras.Sequential([keras.layers.Dense(1)])")
OPTIMIZER = made("optimizer", "keras.Adam", 8, "optimizer = keras.optimizers.Adam()")


def examine(kind: str, message: str, *values: dict[str, Any]) -> Verdict:
    return strategy_scope_missed.examine(failed(kind, message, line(19, "model.fit(x, y)", *values)))


@pytest.mark.parametrize("message", OUTSIDE)
def test_found_with_the_line_that_made_the_model(message: str) -> None:
    verdict = examine("RuntimeError", message, MODEL)
    assert isinstance(verdict, Found)
    assert "outside the scope of MirroredStrategy" in verdict.summary
    assert "`model` at train.py:7" in verdict.summary
    assert verdict.where == "train.py:7"


def test_of_two_things_it_is_not_known_which_was_made_outside() -> None:
    verdict = examine("RuntimeError", OUTSIDE[0], MODEL, OPTIMIZER)
    assert isinstance(verdict, Found)
    assert "`model` at train.py:7 and `optimizer` at train.py:8" in verdict.summary
    assert verdict.where == "train.py:19"


def test_an_update_that_asserts_and_says_nothing() -> None:
    verdict = examine("AssertionError", UPDATED)
    assert isinstance(verdict, Found)
    assert "outside the scope of the strategy" in verdict.summary


def test_strategies_that_are_mixed() -> None:
    verdict = examine("RuntimeError", f"Mixing different tf.distribute.Strategy objects: {MIRRORED} is not {MIRRORED}", MODEL)
    assert isinstance(verdict, Found)
    assert "under one distribution strategy is used under another" in verdict.summary


@pytest.mark.parametrize(
    ("kind", "message"), [("AssertionError", ""), ("AssertionError", "update of the table failed"), ("RuntimeError", "strategy")]
)
def test_clear_of_other_errors(kind: str, message: str) -> None:
    assert isinstance(examine(kind, message, MODEL), Clear)


def test_unknown_where_the_program_could_not_be_seen() -> None:
    assert isinstance(strategy_scope_missed.examine(unseen()), Unknown)
