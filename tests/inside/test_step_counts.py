"""The loss of some steps, from the running means that Keras gives."""

import pytest

from unstall.inside.steps import StepCounter
from unstall.journal.events import Event, StepsEnded


def losses_of(means: list[float]) -> list[object]:
    """What is told of steps after which Keras gave these running means."""
    told: list[Event] = []
    counter = StepCounter("train", told.append)
    for step, mean in enumerate(means, 1):
        counter.ended(step, step + 0.5, None, lambda mean=mean: (mean, 0))  # type: ignore[misc]
    return [event.loss for event in told if isinstance(event, StepsEnded)]


def test_after_a_loss_beyond_all_measure_a_running_mean_says_nothing_of_the_next_ones() -> None:
    assert losses_of([1.0, 1e16, 2e16 / 3]) == [1.0, pytest.approx(2e16), None]


def test_a_loss_of_nothing_is_told() -> None:
    assert losses_of([0.0, 0.0]) == [0.0, 0.0]
    assert losses_of([1.0, 0.5]) == [1.0, 0.0]
