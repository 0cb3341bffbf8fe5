"""weights_frozen: training that changes nothing, and training that rightly changes little."""

from typing import Any

from tests.diagnosis.builders import FOLDER, journal, started, steps
from tests.diagnosis.probe_fact_builders import fit, inside, seen, weights
from unstall.diagnosis.causes import weights_frozen
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import Event

NAMES = ("dense/kernel", "dense/bias")


def run(*events: Event, loss: float | None = 0.7) -> object:
    return weights_frozen.examine(journal(started(), inside(), fit(), steps(0, 900, at=20, loss=loss), *events))


def unchanged(step: int = 800, **facts: Any) -> list[Event]:
    return [weights(at, step, unchanged=NAMES, **facts) for at in (8, 10, 12)]


def trainable(variables: int, parameters: int) -> Event:
    return seen("trainable", 1, variables=variables, parameters=parameters, all_parameters=5000,
                frozen_at=f"{FOLDER}/train.py:50", frozen_layers=["conv", "logits"])  # fmt: skip


def test_found_when_the_model_has_no_trainable_weight() -> None:
    verdict = run(trainable(0, 0))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:50"
    assert "all 5,000 parameters are frozen at train.py:50" in verdict.summary


def test_found_when_the_rate_is_exactly_zero() -> None:
    verdict = run(*unchanged(learning_rate=0.0, in_fit=True))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:12"
    assert "exactly 0" in verdict.summary


def test_found_when_gradients_are_never_applied() -> None:
    verdict = run(*unchanged(applied=False, applied_to_these=False))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:43"
    assert "not seen to be given to the optimizer" in verdict.summary


def test_found_when_they_are_applied_to_other_variables() -> None:
    verdict = run(*unchanged(applied_to_these=False))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:44"


def test_found_when_a_train_step_of_its_own_forgets_the_optimizer() -> None:
    verdict = run(*unchanged(in_fit=True, asked_in_fit=True, applied=False, applied_to_these=False))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:43"


def test_found_without_a_reason_only_after_long_and_not_for_certain() -> None:
    verdict = run(*unchanged())
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert isinstance(run(*unchanged(step=200)), Clear)


def test_clear_for_a_frozen_backbone_with_a_head_that_learns() -> None:
    assert isinstance(run(trainable(2, 195), weights(8, 500, changed=("head/kernel",))), Clear)


def test_clear_when_some_of_the_weights_change() -> None:
    assert isinstance(run(weights(8, 500, unchanged=NAMES), weights(10, 600, changed=NAMES[:1], unchanged=NAMES[1:])), Clear)


def test_clear_when_the_loss_is_zero() -> None:
    assert isinstance(run(*unchanged(), loss=0.0), Clear)


def test_clear_when_gradients_are_computed_without_any_optimizer() -> None:
    """Measuring gradients is no training."""
    assert isinstance(run(*unchanged(applied=False, applied_to_these=False, optimizers=0)), Clear)


def test_clear_when_a_train_step_of_its_own_trains_other_variables() -> None:
    assert isinstance(run(trainable(0, 0), seen("asked", 2, variables=4)), Clear)


def test_clear_too_early() -> None:
    assert isinstance(run(*unchanged(step=20, learning_rate=0.0)), Clear)


def test_unknown_from_outside() -> None:
    assert isinstance(weights_frozen.examine(journal(started())), Unknown)


def test_found_with_what_the_loss_of_a_jax_loop_calls() -> None:
    verdict = run(*unchanged(learning_rate=None, cut_at=f"{FOLDER}/train.py:9", cut_by="argmax"))
    assert isinstance(verdict, Found)
    assert (verdict.certainty, verdict.where) == (Certainty.LIKELY, "train.py:9")
    assert "the loss calls argmax at train.py:9, which has no gradient" in verdict.summary


def test_where_no_rate_was_seen_it_may_be_zero() -> None:
    verdict = run(*unchanged(learning_rate=None))
    assert isinstance(verdict, Found)
    assert "the gradients, or the learning rate, may be exactly zero" in verdict.summary
