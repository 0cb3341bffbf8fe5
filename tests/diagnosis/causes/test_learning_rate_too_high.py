"""learning_rate_too_high: leaps that wreck the training, and bold rates that work."""

from typing import Any

from tests.diagnosis.builders import journal, started
from tests.diagnosis.learning_curve_builders import (
    broke,
    falling,
    guessing,
    losses,
    model,
    not_finite,
    run,
    stuck,
    weight,
    weights,
)
from tests.diagnosis.probe_fact_builders import seen
from unstall.diagnosis.causes import learning_rate_too_high
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event


def leap(ratio: float, rate: float | None) -> Event:
    """The first step changes a layer by so many times its own size."""
    return weights(2, 1, weight(rms=0.1 * max(1.0, ratio), step=0.1 * ratio), rate=rate, window=1)


def verdict_of(*events: Event | list[Event], **facts: Any) -> object:
    return learning_rate_too_high.examine(run(model(**facts), guessing(), *events))


def test_found_when_the_loss_stays_at_guessing() -> None:
    verdict = verdict_of(leap(3.6, 10.0), stuck(2.47))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:54"
    assert (
        "The learning rate of 10 is too high for SGD: step 0 changed dense_0/kernel by 3.6 times its own size" in verdict.summary
    )


def test_found_when_the_loss_is_nan() -> None:
    assert isinstance(verdict_of(leap(40, 5.0), broke(4), not_finite()), Found)


def test_found_when_the_loss_has_risen() -> None:
    verdict = verdict_of(leap(20, 1.0), losses(1.8, *[13.55] * 18), optimizer="Adam")
    assert isinstance(verdict, Found)
    assert "Adam" in verdict.summary


def rate_event(rate: float | None, optimizer: str = "AdamW", momentum: float = 0.0) -> Event:
    return seen("rate", 5, optimizer=optimizer, learning_rate=rate, momentum=momentum)


def test_likely_where_only_the_rate_is_known_and_far_beyond_any_usual_one() -> None:
    verdict = verdict_of(broke(4), not_finite(), rate_event(1e6))
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.LIKELY
    assert "The learning rate of 1e6 is too high for AdamW: usual is up to 0.01, and the loss is no longer" in verdict.summary
    assert isinstance(verdict_of(broke(4), not_finite(), rate_event(2.0, "SGD", 0.9)), Found)


def test_unknown_where_only_the_rate_is_known_and_not_beyond_doubt() -> None:
    for event in (rate_event(0.05), rate_event(None), rate_event(1e6, "Own"), rate_event(2.0, "SGD")):
        assert isinstance(verdict_of(broke(4), not_finite(), event), Unknown)
    assert isinstance(verdict_of(falling(), rate_event(1e6)), Unknown)


def many_steps_later(rate: float) -> Event:
    """Weights as they were found after many steps that were made in one call: what one step did is not known."""
    return weights(200, 100, weight(rms=None, not_finite=5), rate=rate, window=200)


def test_likely_where_many_steps_are_made_in_one_call_at_a_rate_beyond_any_usual_one() -> None:
    verdict = verdict_of(many_steps_later(1000.0), broke(99), not_finite())
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.LIKELY
    assert "The learning rate of 1,000 is too high for SGD" in verdict.summary
    assert verdict.where == "train.py:54"
    assert isinstance(verdict_of(many_steps_later(0.5), broke(99), not_finite()), Clear)


def test_clear_for_a_bold_rate_that_learns() -> None:
    assert isinstance(verdict_of(leap(1.2, 1.0), falling()), Clear)


def test_clear_when_the_loss_stands_but_no_step_was_long() -> None:
    assert isinstance(verdict_of(leap(0.02, 10.0), stuck(2.31)), Clear)


def test_clear_when_the_rate_is_usual() -> None:
    """Then it is the gradients, or the inputs."""
    assert isinstance(verdict_of(leap(900, 0.01), broke(4), not_finite()), Clear)


def test_clear_when_a_usual_rate_would_have_leapt_just_as_well() -> None:
    assert isinstance(verdict_of(leap(1e6, 0.5), broke(4), not_finite()), Clear)


def test_clear_for_losses_that_take_turns() -> None:
    assert isinstance(verdict_of(leap(3, 10.0), losses(0.7, *[4.7] * 18), seen("turns", 2)), Clear)


def test_clear_for_a_step_of_ones_own_whose_loss_may_rise() -> None:
    assert isinstance(verdict_of(leap(3, 10.0), losses(0.7, *[4.7] * 18), own_step=True), Clear)


def test_unknown_without_samples_of_the_weights() -> None:
    assert isinstance(verdict_of(stuck(2.47)), Unknown)
    assert isinstance(learning_rate_too_high.examine(journal(started())), Unknown)


def _of_losses(first: float, *later: float, **facts: Any) -> object:
    """Nothing is known of the weights."""
    return learning_rate_too_high.examine(run(model(optimizer=None, **facts), losses(first, *later)))


def test_possible_where_the_loss_has_run_away_and_nothing_else_is_known() -> None:
    verdict = _of_losses(1.76, 1.9e34, *[2e12] * 18)
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.POSSIBLE
    assert "the loss stands at 2e12, where it began at 1.76" in verdict.summary


def test_possible_where_the_loss_rises_and_then_is_exactly_0_for_good() -> None:
    verdict = _of_losses(8.0, 90.0, 240.0, *[0.0] * 12)
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.POSSIBLE
    assert "rose to 240, where it began at 8, and has been exactly 0 since step" in verdict.summary


def test_possible_where_the_loss_is_exactly_0_for_good_after_it_had_exploded() -> None:
    verdict = _of_losses(37.0, 464.0, 22.0, 6464.0, 0.4, 0.001, 3.5, *[0.0] * 12)
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.POSSIBLE


def test_a_loss_of_0_that_was_learned_or_comes_and_goes_is_no_runaway() -> None:
    for later in (
        [2.0 * 0.5**index for index in range(12)] + [0.0] * 12,  # all margins are kept: a hinge loss
        [30.0, 12.0, 3.0, 0.4, *[0.0] * 12],  # a leap at the start, and then learned
        [90.0, 0.0] * 10,  # batches without an object
        [90.0, 240.0, 0.0, 12.0, 0.0, 3.0, *[0.0] * 12],  # a perceptron: no loss where all is classified rightly
        [90.0, 240.0, *[0.0] * 5],  # too few yet
        [*[0.0] * 20],
    ):
        assert not isinstance(_of_losses(2.3, *later), Found), later


def test_a_loss_that_grows_as_it_may_is_no_runaway() -> None:
    assert not isinstance(_of_losses(0.001, *[5000.0] * 18), Found)  # of a critic, before there were rewards
    assert not isinstance(_of_losses(2.3, *[4e4] * 18), Found)
    assert not isinstance(_of_losses(2.3, *[1e12] * 6, *[2.0] * 12), Found)  # it has come back
