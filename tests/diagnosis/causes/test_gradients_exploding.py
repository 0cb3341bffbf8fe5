"""gradients_exploding: updates that wreck the weights at a usual rate, and large numbers that do not."""

from typing import Any

from tests.diagnosis.builders import journal, started, steps
from tests.diagnosis.learning_curve_builders import (
    array,
    batch,
    broke,
    falling,
    guessing,
    loss,
    losses,
    model,
    not_finite,
    run,
    weight,
    weights,
)
from tests.diagnosis.learning_curve_builders import leap_of as leap
from unstall.diagnosis.causes import gradients_exploding
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event


def verdict_of(*events: Event | list[Event], **facts: Any) -> object:
    return gradients_exploding.examine(run(model(**facts), guessing(), *events))


def test_found_when_the_first_update_throws_the_weights_away() -> None:
    verdict = verdict_of(leap(9000), steps(0, 0, at=1.5, loss=2.2e7), broke(1), not_finite())
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "step 0 changed dense_0/kernel by 9,000 times its own size" in verdict.summary
    assert any("before any update" in evidence.claim for evidence in verdict.evidence)
    assert "clipnorm" in verdict.actions[0]


def test_found_when_the_loss_is_astronomic_before_any_update() -> None:
    """Adam's steps are never long: then the numbers themselves show it."""
    verdict = verdict_of(leap(0.02, rate=0.001), steps(0, 0, at=1.5, loss=5e9), broke(3), not_finite(), optimizer="Adam")
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY


def test_found_when_the_loss_stays_far_above_guessing() -> None:
    far = losses(5e9, *[4e9 * 0.99**index for index in range(18)])
    assert isinstance(verdict_of(leap(0.02, rate=0.001), far, optimizer="Adam"), Found)
    falls = losses(5e9, *[4e9 * 0.3**index for index in range(18)])
    assert isinstance(verdict_of(leap(0.02, rate=0.001), falls, optimizer="Adam"), Clear)


def test_targets_in_pixels_are_named_and_scaling_them_comes_first() -> None:
    pixels = batch(array("y", min=0.2, max=1333.0, mean=660.0, rms=768.0, whole=False))
    result = verdict_of(pixels, leap(9000), broke(1), not_finite(), losses=[loss("meansquarederror")])
    assert isinstance(result, Found)
    assert "The targets reach 1,333" in result.summary and result.actions[0].startswith("scale the targets")
    numbers = batch(array("y", min=0.0, max=999.0, mean=500.0, rms=577.0, whole=True))
    result = verdict_of(numbers, leap(9000), broke(1), not_finite())
    assert isinstance(result, Found)
    assert "targets reach" not in result.summary and "clipnorm" in result.actions[0]  # numbers of classes


def test_clear_when_large_gradients_are_clipped_and_it_learns() -> None:
    assert isinstance(verdict_of(leap(1.5), falling(3e4), clipped=True), Clear)


def test_clear_when_targets_in_the_thousands_are_learned() -> None:
    assert isinstance(verdict_of(leap(40), falling(4e8)), Clear)


def test_clear_when_nan_comes_out_of_a_calm_training() -> None:
    """A logarithm of 0, a bad row."""
    steady = [weights(2, 1, weight(step=0.001)), weights(4, 690, weight(step=0.001))]
    assert isinstance(verdict_of(steady, steps(0, 0, at=1.5, loss=2.3), broke(700), not_finite()), Clear)


def test_clear_when_the_rate_is_to_blame() -> None:
    assert isinstance(verdict_of(leap(3.6, rate=10.0), broke(4), not_finite()), Clear)


def test_unknown_without_samples_of_the_weights() -> None:
    assert isinstance(verdict_of(broke(4), not_finite()), Unknown)
    assert isinstance(gradients_exploding.examine(journal(started())), Unknown)
