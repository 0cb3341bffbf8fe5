"""How often steps are told: often at first, seldom later, and often again while they are longer than they were."""

from __future__ import annotations

import time

import pytest

from unstall.diagnosis.run_summary import measure_input_seconds
from unstall.journal.events import Event, StepsEnded
from unstall.probe.core.step_counter import EVERY_LATER_S, EVERY_S, LATER_AFTER_S, StepCounter


def written_groups(lengths: list[float]) -> list[StepsEnded]:
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
    groups = written_groups([0.1] * (early + later) + [0.4] * longer)
    lengths = [group.seconds for group in groups]
    assert abs(lengths[100] - EVERY_S) < 0.2
    quiet = [group.seconds for group in groups if early + 60 < group.first < early + later - 60]
    assert all(abs(seconds - EVERY_LATER_S) < 0.2 for seconds in quiet)
    assert all(abs(seconds - EVERY_S) < 0.3 for seconds in lengths[-5:])


def test_steps_that_stay_long_are_told_seldom_again() -> None:
    groups = written_groups([0.1] * round(LATER_AFTER_S / 0.1) + [0.4] * 1000)
    assert abs(groups[-1].seconds - EVERY_LATER_S) < 0.5


def test_the_wait_that_a_pass_begins_with_is_not_taken_for_that_of_its_other_steps() -> None:
    events: list[Event] = []
    counter = StepCounter("train", events.append)
    at = time.monotonic()
    for epoch in range(6):
        counter.flush(at)
        counter.epoch(epoch)
        for number in range(20):
            length, wait = (0.2, 0.19) if number == 0 else (0.01, 0.0001 if number == 10 else None)
            counter.ended(at, at + length, wait, lambda: (None, 0))
            at += length
    counter.flush(at)
    groups = [event for event in events if isinstance(event, StepsEnded) and event.epoch > 0]
    waited = measure_input_seconds(groups)
    assert waited is not None
    assert 0.18 * 5 < waited < 0.22 * 5  # of 2 s in all


# The loss of some steps, from the running means that Keras gives.


def losses_of(means: list[float]) -> list[object]:
    """What is told of steps after which Keras gave these running means."""
    rows: list[Event] = []
    counter = StepCounter("train", rows.append)
    for step, mean in enumerate(means, 1):
        counter.ended(step, step + 0.5, None, lambda mean=mean: (mean, 0))  # type: ignore[misc]
    return [event.loss for event in rows if isinstance(event, StepsEnded)]


def test_after_a_loss_beyond_all_measure_a_running_mean_says_nothing_of_the_next_ones() -> None:
    assert losses_of([1.0, 1e16, 2e16 / 3]) == [1.0, pytest.approx(2e16), None]


def test_a_loss_of_nothing_is_told() -> None:
    assert losses_of([0.0, 0.0]) == [0.0, 0.0]
    assert losses_of([1.0, 0.5]) == [1.0, 0.0]
