"""What a step takes, as a mean over groups of steps, and how unsure that mean is."""

from __future__ import annotations

import pytest

from unstall.compare.record.journal_summary import Mean


def mean_of(*groups: tuple[float, int]) -> Mean:
    mean = Mean()
    for seconds_each, count in groups:
        mean.add(seconds_each * count, count)
    return mean


def test_one_step_that_was_held_up_makes_the_mean_as_unsure_as_it_moved_it() -> None:
    steady, held_up = mean_of(*[(0.11, 1)] * 8), mean_of(*[(0.11, 1)] * 7, (0.51, 1))
    assert steady.value == pytest.approx(0.11) and steady.unsure == pytest.approx(0.0, abs=1e-6)
    assert held_up.value == pytest.approx(0.16)
    assert held_up.unsure == pytest.approx(0.05)


def test_what_happens_again_and_again_is_sure_once_it_was_seen_often() -> None:
    small, many = mean_of((0.1, 1), (0.3, 1), (0.1, 1), (0.3, 1)), mean_of(*[(0.1, 1), (0.3, 1)] * 200)
    assert (small.value, many.value) == pytest.approx((0.2, 0.2))
    assert small.unsure is not None and many.unsure is not None and many.unsure < small.unsure / 8


def test_groups_of_many_steps_count_as_many() -> None:
    assert mean_of((0.1, 30), (0.4, 10)).value == pytest.approx(0.175)


def test_of_one_group_nothing_is_known_of_chance() -> None:
    assert mean_of((0.1, 30)).unsure is None
    assert mean_of().value is None
