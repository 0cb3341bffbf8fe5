"""last_batches: how the examples go up in batches, and only where the number that is left over is the one that fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnosis.failed_programs import failed, line
from unstall.diagnosis.errors.evidence import Explanation
from unstall.diagnosis.errors.failures import find_failure
from unstall.diagnosis.errors.last_batches import explain_last_batch

HIDDEN = "Expected hidden[0] size (1, 20, 24), got [1, 32, 24]"
ONE = "Expected more than 1 value per channel when training, got input size torch.Size([1, 24])"


def explain(message: str, examples: int, shape: tuple[int, ...] = (20, 9, 1)) -> Explanation | None:
    facts = {"type": "torch.DataLoader", "batch_size": 32, "examples": examples, "in_failing": True}
    source = ["loader = DataLoader(rows, batch_size=32)"]
    loader: dict[str, Any] = {"name": "loader", **facts, "made_at": 4, "made_by": source}
    failure = find_failure(failed("RuntimeError", message, line(9, "for x in loader:", loader)))
    assert failure is not None
    return explain_last_batch(failure, "The layer lstm (LSTM)", shape)


def test_a_hidden_state_for_a_full_batch_and_the_rest_of_the_examples() -> None:
    said = explain(HIDDEN, 500)
    assert said is not None
    assert "a batch (20, 9, 1) of 20 examples, and a hidden state for 32" in said.summary
    assert "`loader` makes batches of 32 from 500 examples, 15 x 32 + 20: the last has 20." in said.summary
    assert said.changes[0].after == ("loader = DataLoader(rows, batch_size=32, drop_last=True)",)


def test_a_hidden_state_that_never_fitted_is_not_put_down_to_the_last_batch() -> None:
    said = explain(HIDDEN, 640)
    assert said is not None
    assert "makes batches" not in said.summary
    assert said.changes == () and len(said.actions) == 1


def test_one_example_that_is_left_over() -> None:
    said = explain(ONE, 129, (1, 24))
    assert said is not None
    assert "129 examples, 4 x 32 + 1: the last has one." in said.summary


@pytest.mark.parametrize("message", ["Expected hidden size (1, 20, 24), got [2, 20, 24]", "shapes differ"])
def test_nothing_is_said_of_another_side(message: str) -> None:
    assert explain(message, 500) is None
