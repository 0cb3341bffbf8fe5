"""gradients_disconnected: weights on which the loss depends and which get no gradient; and weights that need none."""

from tests.diagnosis.builders import FOLDER, T0, journal, lib, py, started, steps
from tests.diagnosis.probe_fact_builders import fit, inside, missing, seen, weights
from unstall.diagnosis.causes import gradients_disconnected
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.journal.events import ErrorRaised, Event

ENCODER = ("encoder/kernel", "encoder/bias")
CUT = {"cut_at": f"{FOLDER}/model.py:36", "cut_by": "stop_gradient"}


def refused(message: str = "No gradients provided for any variable.") -> ErrorRaised:
    frames = [lib("keras/src/optimizers/base_optimizer.py", "apply"), py("train.py", "<module>", 60)]
    return ErrorRaised(at=T0 + 3, kind="ValueError", message=message, frames=frames, fatal=True)


def run(*events: Event) -> object:
    return gradients_disconnected.examine(journal(started(), inside(), fit(), steps(0, 300, at=20), *events))


def test_found_when_the_optimizer_refuses_and_the_graph_shows_what_cuts() -> None:
    event = missing(2, ENCODER, 2, (100, 100), feeding=list(ENCODER), cut_at=f"{FOLDER}/train.py:34", cut_by="ArgMax")
    verdict = run(event, refused())
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.effect is Effect.STOPS
    assert verdict.where == "train.py:34"
    assert "ArgMax" in verdict.summary
    assert "cross-entropy" in verdict.actions[0]


def test_found_when_the_loss_is_computed_after_the_tape() -> None:
    event = missing(
        2, ENCODER, 2, (100, 100), feeding=list(ENCODER), cut_at=f"{FOLDER}/train.py:40", cut_by="computed outside the tape"
    )
    verdict = run(event, refused())
    assert isinstance(verdict, Found)
    assert "after the tape has closed" in verdict.summary


def test_found_on_pytorch_by_its_error_and_the_source_of_the_loss() -> None:
    cut = seen("trainable", 1, variables=4, all_parameters=9, parameters=9, frozen_at=None, frozen_layers=[],
               loss_cut_at=f"{FOLDER}/losses.py:8", loss_cut_by="round")  # fmt: skip
    verdict = run(cut, refused("element 0 of tensors does not require grad and does not have a grad_fn"))
    assert isinstance(verdict, Found)
    assert verdict.where == "losses.py:8"
    assert isinstance(run(refused("element 0 of tensors does not require grad and does not have a grad_fn")), Found)


def test_found_for_a_branch_that_feeds_the_loss_and_stays_the_same() -> None:
    event = missing(2, ENCODER, 6, (90, 100), feeding=list(ENCODER), **CUT)
    verdict = run(event, weights(9, 250, changed=("head/kernel",), unchanged=ENCODER))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert verdict.where == "model.py:36"
    assert "encoder/kernel and encoder/bias have no gradient" in verdict.summary


def test_found_in_an_eager_loop_for_most_of_the_parameters() -> None:
    event = missing(2, ENCODER, 6, (90, 100), cut_at=f"{FOLDER}/train.py:38", cut_by="numpy()")
    verdict = run(event, weights(9, 250, changed=("head/kernel",), unchanged=ENCODER))
    assert isinstance(verdict, Found)
    assert "NumPy" in verdict.actions[0]


def test_possible_when_most_of_the_model_does_not_feed_the_loss() -> None:
    verdict = run(missing(2, ENCODER, 6, (90, 100), feeding=[]), weights(9, 250, unchanged=ENCODER))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.POSSIBLE
    assert "does not depend on them" in verdict.summary


def test_clear_for_a_head_that_the_loss_does_not_depend_on() -> None:
    event = missing(2, ("depth/kernel",), 6, (65, 1000), feeding=[])
    assert isinstance(run(event, weights(9, 250, unchanged=("depth/kernel",))), Clear)


def test_clear_for_a_teacher_that_changes_by_other_means() -> None:
    event = missing(2, ENCODER, 6, (50, 100), feeding=list(ENCODER), **CUT)
    assert isinstance(run(event, weights(9, 250, changed=ENCODER)), Clear)


def test_clear_for_a_small_part_of_an_eager_step() -> None:
    event = missing(2, ENCODER, 6, (10, 100), cut_at=f"{FOLDER}/train.py:38", cut_by="numpy()")
    assert isinstance(run(event, weights(9, 250, unchanged=ENCODER)), Clear)


def test_clear_until_it_is_seen_that_they_stay_the_same() -> None:
    assert isinstance(run(missing(2, ENCODER, 6, (90, 100), feeding=list(ENCODER), **CUT)), Clear)


def test_unknown_from_outside() -> None:
    assert isinstance(gradients_disconnected.examine(journal(started())), Unknown)
