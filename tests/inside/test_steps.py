"""How often steps are told: often at first, seldom later, and often again while they are longer than they were."""

from __future__ import annotations

import time

from unstall.inside.steps import EVERY_LATER_S, EVERY_S, LATER_AFTER_S, StepCounter
from unstall.journal.events import Event, StepsEnded


def told(lengths: list[float]) -> list[StepsEnded]:
    """Steps of these seconds, one after the other, beginning now."""
    events: list[Event] = []
    counter = StepCounter("train", events.append)
    at = time.monotonic()
    for length in lengths:
        counter.ended(at, at + length, None, lambda: (None, 0))
        at += length
    return [event for event in events if isinstance(event, StepsEnded)]


def test_steps_that_become_longer_are_told_as_often_as_early_ones() -> None:
    early, later, longer = (round(seconds / length) for seconds, length in ((LATER_AFTER_S, 0.1), (50.0, 0.1), (8.0, 0.4)))
    groups = told([0.1] * (early + later) + [0.4] * longer)
    lengths = [group.seconds for group in groups]
    assert abs(lengths[100] - EVERY_S) < 0.2
    quiet = [group.seconds for group in groups if early + 60 < group.first < early + later - 60]
    assert all(abs(seconds - EVERY_LATER_S) < 0.2 for seconds in quiet)
    assert all(abs(seconds - EVERY_S) < 0.3 for seconds in lengths[-5:])


def test_steps_that_stay_long_are_told_seldom_again() -> None:
    groups = told([0.1] * round(LATER_AFTER_S / 0.1) + [0.4] * 1000)
    assert abs(groups[-1].seconds - EVERY_LATER_S) < 0.5
