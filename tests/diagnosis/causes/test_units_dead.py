"""units_dead: layers that never answer, and sparse ones that learn."""

from typing import Any

from tests.diagnosis.builders import journal, started
from tests.diagnosis.learning_curve_builders import falling, guessing, model, run, stuck, weight, weights
from unstall.diagnosis.causes import units_dead
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event


def windows(still: int, last_still: int = 0, window: int = 400) -> list[Event]:
    text = (weight(still=still), weight("model/dense_1/kernel", still=still), weight("model/out/bias", units=1, still=last_still))
    return [weights(at, step, *text, window=window) for at, step in ((8, 800), (14, 1600))]


def verdict_of(*events: Event | list[Event], **facts: Any) -> object:
    return units_dead.examine(run(model(**facts), guessing(), *events))


def test_found_when_all_units_of_relu_layers_stand_still() -> None:
    verdict = verdict_of(windows(32), stuck(2.31))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "All 64 units of dense_0 and dense_1 are dead: no weight into them changed in" in verdict.summary
    assert "never answers" not in verdict.summary


def test_found_when_nearly_all_do_but_not_for_certain() -> None:
    verdict = verdict_of(windows(30), stuck(2.31))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_clear_when_a_third_is_silent() -> None:
    assert isinstance(verdict_of(windows(11), stuck(2.31)), Clear)


def test_clear_when_it_learns() -> None:
    assert isinstance(verdict_of(windows(32), falling()), Clear)


def test_clear_when_nothing_at_all_changes() -> None:
    """Then the weights are frozen, which is another matter."""
    assert isinstance(verdict_of(windows(32, last_still=1), stuck(2.31)), Clear)


def test_clear_for_layers_that_cannot_die() -> None:
    layers = [{"name": f"dense_{index}", "class": "Dense", "activation": "sigmoid"} for index in range(3)]
    assert isinstance(verdict_of(windows(32), stuck(2.31), layers=layers), Clear)


def test_clear_over_a_few_steps() -> None:
    assert isinstance(verdict_of(windows(32, window=20), stuck(2.31)), Clear)


def test_unknown_without_samples_of_the_weights() -> None:
    assert isinstance(verdict_of(stuck(2.31)), Unknown)
    assert isinstance(units_dead.examine(journal(started())), Unknown)
