"""learning_rate_too_low: runs that cannot move, and small rates that are right."""

from typing import Any

from tests.diagnosis.builders import journal, started
from tests.diagnosis.learning_curve_builders import falling, guessing, losses, model, run, stuck, weight, weights
from unstall.diagnosis.causes import learning_rate_too_low
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event


def moving(step: float, rates: tuple[float, float, float], moved: float = 0.0) -> list[Event]:
    """Three samples; one step moves weights of size 0.1 so far."""
    at = zip((2.0, 8.0, 20.0), (2, 1000, 2900), rates, strict=True)
    return [weights(when, done, weight(step=step, moved=moved), rate=rate) for when, done, rate in at]


def verdict_of(*events: Event | list[Event], **facts: Any) -> object:
    return learning_rate_too_low.examine(run(model(**{"optimizer": "Adam", **facts}), guessing(), *events))


def test_found_for_a_rate_of_1e_8() -> None:
    verdict = verdict_of(moving(1e-8, (1e-8, 1e-8, 1e-8)), stuck(2.34))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "is 1e-8, far too low for Adam" in verdict.summary.replace("1.0e-8", "1e-8")
    assert verdict.where == "train.py:54"


def test_found_when_a_decay_has_eaten_it_up_at_once() -> None:
    samples = [*moving(2e-6, (1e-4, 1e-4, 1e-4))[:1], *moving(0.0, (1e-4, 1e-9, 1e-12))[1:]]
    verdict = verdict_of(samples, stuck(3.26), schedule="ExponentialDecay")
    assert isinstance(verdict, Found)
    assert "has fallen from" in verdict.summary
    assert "decay_steps" in verdict.actions[1]


def sinking(last: float, still: int, window: int = 600) -> list[Event]:
    """A rate that a callback lowers and lowers, and how many of 32 units have not changed in the newest window."""
    unmoved = weight(step=0.0, moved=0.04, units=32, still=still)
    return [weights(2, 2, weight(step=1e-4), rate=1e-3), weights(20, 2900, unmoved, rate=last, window=window)]


def test_found_when_the_rate_has_sunk_after_all_was_well() -> None:
    verdict = verdict_of(sinking(1e-33, still=32), falling())
    assert isinstance(verdict, Found)
    assert "no weight that was looked at has changed by one bit in 600 steps" in verdict.summary
    assert "min_lr" in verdict.actions[0]


def test_clear_while_anything_still_moves_or_for_the_last_steps_of_a_schedule() -> None:
    assert isinstance(verdict_of(sinking(1e-10, still=31), falling()), Clear)
    assert isinstance(verdict_of(sinking(0.0, still=32, window=40), falling()), Clear)


def test_clear_for_a_warm_up_that_begins_near_zero() -> None:
    assert isinstance(verdict_of(moving(1e-8, (1e-10, 1e-9, 1e-8)), stuck(2.34)), Clear)


def test_clear_for_a_schedule_that_ends_at_zero_after_the_loss_fell() -> None:
    assert isinstance(verdict_of(moving(0.0, (1e-3, 1e-5, 1e-9)), losses(2.3, *[1.1] * 18)), Clear)


def test_clear_for_fine_tuning_that_does_its_work() -> None:
    assert isinstance(verdict_of(moving(1e-5, (1e-6, 1e-6, 1e-6)), falling(0.02)), Clear)


def test_clear_when_the_gradients_are_what_is_small() -> None:
    """Training goes on from weights that are right already."""
    assert isinstance(verdict_of(moving(1e-13, (1e-6, 1e-6, 1e-6)), stuck(2.34)), Clear)


def test_clear_for_a_usual_rate() -> None:
    assert isinstance(verdict_of(moving(1e-4, (1e-3, 1e-3, 1e-3)), stuck(2.31)), Clear)


def test_unknown_where_the_rate_cannot_be_read() -> None:
    assert isinstance(verdict_of(stuck(2.34)), Unknown)
    assert isinstance(learning_rate_too_low.examine(journal(started())), Unknown)
