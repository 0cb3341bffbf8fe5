"""inputs_constant: inputs that are all one number, and those that only look so in part."""

from typing import Any

from tests.diagnosis.builders import journal, started
from tests.diagnosis.learning_curve_builders import array, batch, falling, guessing, model, run, stuck, weight, weights
from unstall.diagnosis.causes import inputs_constant
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event

ZEROS = array(dtype="uint8", min=0.0, max=0.0, mean=0.0, rms=0.0, looked_at=64_000)
START = weights(2, 1, weight(step=0.001), window=1)


def verdict_of(*events: Event | list[Event], **facts: Any) -> object:
    return inputs_constant.examine(run(model(**facts), guessing(), *events))


def test_found_when_all_that_is_fed_is_one_number_and_nothing_is_learned() -> None:
    verdict = verdict_of(batch(ZEROS), START, stuck(2.302))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY  # 64,000 of 256,000
    assert "All 64,000 numbers of the inputs (of the kind uint8) that were looked at are 0" in verdict.summary
    assert "astype" in verdict.actions[0]
    assert verdict.where == "train.py:60"
    whole = verdict_of(batch({**ZEROS, "shape": [2000, 32]}), START, stuck(2.302))
    assert isinstance(whole, Found) and whole.certainty is Certainty.CERTAIN


def test_it_stands_before_what_follows_from_it() -> None:
    found = [finding.cause for finding in diagnose(run(model(), guessing(), batch(ZEROS), START, stuck(2.302))).findings]
    assert found[0] == "inputs_constant" and "loss_not_falling" not in found


def test_clear_where_one_of_several_inputs_differs_or_too_little_was_seen() -> None:
    assert isinstance(verdict_of(batch({**ZEROS, "name": "mask"}, array(name="tokens")), START, stuck(2.302)), Clear)
    assert isinstance(verdict_of(batch({**ZEROS, "looked_at": 8}), START, stuck(2.302)), Clear)


def test_clear_where_the_loss_falls() -> None:
    """A generator that makes a picture of nothing but ones."""
    assert isinstance(verdict_of(batch(ZEROS), START, falling()), Clear)


def test_unknown_without_a_look_at_the_inputs() -> None:
    assert isinstance(verdict_of(START, stuck(2.302)), Unknown)
    assert isinstance(inputs_constant.examine(journal(started())), Unknown)
