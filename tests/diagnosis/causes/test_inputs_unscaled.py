"""inputs_unscaled: raw pixels and salaries that wreck the training, and large inputs that do not."""

from typing import Any

import pytest

from tests.diagnosis.builders import journal, started
from tests.diagnosis.learning_curve_builders import (
    array,
    batch,
    broke,
    falling,
    guessing,
    model,
    not_finite,
    run,
    stuck,
    weight,
    weights,
)
from unstall.diagnosis.causes import inputs_unscaled
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event

PIXELS = batch(array(min=0.0, max=255.0, rms=120.0))
START = weights(2, 1, weight(step=0.1), window=1)


def verdict_of(*events: Event | list[Event], **facts: Any) -> object:
    return inputs_unscaled.examine(run(model(**facts), guessing(), *events))


def test_found_when_the_loss_stays_at_guessing() -> None:
    verdict = verdict_of(PIXELS, START, stuck(2.302))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "from 0 to 255" in verdict.summary
    assert "Rescaling" in verdict.actions[0]
    assert verdict.where == "train.py:60"


def test_found_for_certain_when_the_loss_is_nan() -> None:
    counts = batch(array(min=0.0, max=1e5, rms=5e4))
    verdict = verdict_of(counts, START, broke(3), not_finite())
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert "Normalization" in verdict.actions[0]


def test_it_stands_before_what_follows_from_it() -> None:
    leap = weights(2, 1, weight(rms=90.0, step=90.0), window=1)
    found = diagnose(run(model(), guessing(), PIXELS, leap, broke(3), not_finite())).root
    assert found is not None
    assert found.cause == "inputs_unscaled"
    assert set(found.followed_by) >= {"gradients_exploding", "loss_not_finite"}


def test_clear_when_it_learns_with_raw_inputs() -> None:
    assert isinstance(verdict_of(PIXELS, START, falling()), Clear)


@pytest.mark.parametrize(
    "entry",
    [
        ["Rescaling", "Conv2D"],
        ["Cast", "TrueDivide", "Conv2D"],
        ["Normalization"],
        ["BatchNormalization"],
        ["Embedding"],
        ["Flatten", ""],
        None,
    ],
)
def test_clear_when_something_stands_before_the_first_layer(entry: list[str] | None) -> None:
    assert isinstance(verdict_of(PIXELS, START, stuck(2.302), entry=entry), Clear)


def test_found_through_layers_that_pass_values_on() -> None:
    assert isinstance(verdict_of(PIXELS, START, stuck(2.302), entry=["RandomFlip", "Flatten", "Dense"]), Found)
    assert isinstance(verdict_of(PIXELS, START, stuck(2.302), entry=["Cast", "Conv2D"]), Found)


def test_clear_when_the_first_weights_are_drawn_for_such_inputs() -> None:
    small = weights(2, 1, weight(rms=1e-4, start=1e-4, step=1e-6), window=1)
    assert isinstance(verdict_of(PIXELS, small, stuck(2.302)), Clear)


def test_clear_for_inputs_of_a_usual_size() -> None:
    assert isinstance(verdict_of(batch(array()), START, stuck(2.302)), Clear)


def test_clear_when_the_rate_is_what_keeps_it_from_learning() -> None:
    slow = weights(2, 1, weight(step=1e-9), rate=1e-8, window=1)
    assert isinstance(verdict_of(PIXELS, slow, stuck(2.302)), Clear)


def test_unknown_without_a_look_at_the_inputs() -> None:
    assert isinstance(verdict_of(START, stuck(2.302)), Unknown)
    assert isinstance(inputs_unscaled.examine(journal(started())), Unknown)
