"""The learning rate of each step."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.config.settings import Settings
from unstall.training.step.optimizer import compute_rate

TOTAL = 120  # 10 steps in each of the 12 epochs


def rates(**changes: Any) -> list[float]:
    settings = Settings(learning_rate=0.5, warmup_steps=20, **changes)
    return [compute_rate(iteration, settings, TOTAL) for iteration in range(TOTAL)]


def test_the_warm_up_is_a_line_that_ends_at_the_rate() -> None:
    for schedule in ("cosine", "step", "constant"):
        found = rates(lr_schedule=schedule)
        assert found[:3] == pytest.approx([0.025, 0.05, 0.075])
        assert found[19] == pytest.approx(0.5)


def test_a_constant_rate_stays() -> None:
    assert set(rates(lr_schedule="constant")[19:]) == {0.5}


def test_a_cosine_falls_to_nothing_at_the_end() -> None:
    found = rates(lr_schedule="cosine")
    assert found[20] == 0.5 and found[70] == pytest.approx(0.25)
    assert 0 < found[-1] < 1e-3 and all(after < before for before, after in pairwise(found[20:]))


def test_steps_lie_at_the_beginning_of_their_epochs() -> None:
    found = rates(lr_schedule="step", lr_milestones=(8, 11))
    assert found[79] == 0.5 and found[80] == pytest.approx(0.05)
    assert found[109] == pytest.approx(0.05) and found[110] == pytest.approx(0.005)


def test_without_a_warm_up_it_begins_with_the_rate() -> None:
    assert compute_rate(0, Settings(learning_rate=0.5, warmup_steps=0), TOTAL) == 0.5


@given(st.integers(0, 10_000), st.integers(1, 5_000), st.integers(0, 5_000), st.sampled_from(["cosine", "step", "constant"]))
def test_it_is_never_above_the_rate_nor_below_nothing(iteration: int, total: int, warm_up: int, schedule: Any) -> None:
    assert 0 <= compute_rate(iteration, Settings(learning_rate=0.5, warmup_steps=warm_up, lr_schedule=schedule), total) <= 0.5
