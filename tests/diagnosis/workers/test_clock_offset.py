"""The difference of two clocks, from the ends of steps that both have told."""

from __future__ import annotations

import random

from tests.diagnosis.builders import T0, journal
from tests.diagnosis.workers.builders import paced
from unstall.diagnosis.workers.clock_offset import estimate_offset
from unstall.journal.events import StepsEnded


def test_a_clock_that_is_ahead_is_known_within_a_step() -> None:
    result = estimate_offset(journal(*paced()), journal(*paced(ahead_s=40.0)))
    assert result is not None and result.is_locked
    assert abs(result.seconds - 40.0) <= result.error_s <= 0.2


def test_between_two_ends_the_moment_is_taken_in_proportion() -> None:
    """The two put their steps together in groups of different sizes."""
    fine = [group for group in paced(groups=60) if isinstance(group, StepsEnded)]
    coarse = [
        StepsEnded(at=b.at + 7.0, first=a.first, last=b.last, seconds=a.seconds + b.seconds, busy_s=1.0)
        for a, b in zip(fine[::2], fine[1::2], strict=True)
    ]
    result = estimate_offset(journal(*coarse), journal(*fine))
    assert result is not None and result.is_locked
    assert abs(result.seconds + 7.0) <= result.error_s


def independent(seed: int, late_s: float) -> list[StepsEnded]:
    """A run that waits for nobody: its steps vary by themselves."""
    draw, at, result = random.Random(seed), 0.0, []
    for number in range(60):
        seconds = 1.0 + draw.uniform(-0.1, 0.1)
        at += seconds
        result.append(StepsEnded(at=T0 + late_s + at, first=10 * number, last=10 * number + 9, seconds=seconds, busy_s=seconds))
    return result


def test_two_runs_that_merely_go_at_one_speed_are_not_taken_for_lock_step() -> None:
    result = estimate_offset(journal(*independent(1, 0.0)), journal(*independent(2, 40.0)))
    assert result is not None and not result.is_locked


def test_two_runs_without_any_disturbance_are_not_taken_for_it_either() -> None:
    result = estimate_offset(journal(*paced(jolts=False)), journal(*paced(jolts=False, ahead_s=40.0)))
    assert result is not None and not result.is_locked


def test_too_few_steps_say_nothing() -> None:
    assert estimate_offset(journal(*paced(groups=5)), journal(*paced(groups=5))) is None
