"""Which steps are measured: enough of them, not too many, and a fair share of the long ones."""

import itertools
from collections.abc import Iterable

import pytest

from unstall.probe.input.tf_timestamp import READ_AT_LEAST_EVERY_S, READ_EVERY_S, MeasuredSteps


def measure(steps: Iterable[float], cost_s: float = 2e-5) -> list[float]:
    """The lengths of the steps that are measured."""
    schedule, now, seen = MeasuredSteps(), 100.0, []
    for seconds in steps:
        began, now = now, now + seconds
        if schedule.is_next(began):
            schedule.plan(began, cost_s)
            seen.append(seconds)
    return seen


@pytest.mark.parametrize("seconds", [0.15, 1.0, 6.0])
def test_every_step_is_measured_where_they_take_long(seconds: float) -> None:
    assert measure([seconds] * 50) == [seconds] * 50


@pytest.mark.parametrize(("cost_s", "every_s"), [(2e-5, READ_EVERY_S), (4e-4, 0.2), (1.0, READ_AT_LEAST_EVERY_S)])
def test_short_steps_are_measured_now_and_then(cost_s: float, every_s: float) -> None:
    measured = measure([0.005] * 8000, cost_s)
    assert 40.0 / every_s * 0.8 < len(measured) < 40.0 / every_s * 1.3


@pytest.mark.parametrize(
    ("long_s", "short_s", "shorts"),
    [(4.0, 0.3, 1), (0.5, 0.01, 1), (0.5, 0.01, 3), (0.05, 0.001, 1), (0.1, 0.04, 1), (3.0, 0.02, 19)],
)
def test_long_steps_among_short_ones_are_met_as_often_as_they_come(long_s: float, short_s: float, shorts: int) -> None:
    pattern = itertools.cycle([long_s, *[short_s] * shorts])
    measured = measure(itertools.islice(pattern, 4000))
    assert len(measured) > 50
    assert measured.count(long_s) / len(measured) == pytest.approx(1 / (1 + shorts), rel=0.3)


def test_steps_that_become_long_are_measured_at_once() -> None:
    assert measure([*[0.001] * 2000, *[3.0] * 5]).count(3.0) >= 4
