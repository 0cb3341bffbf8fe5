"""loss_not_finite: a loss that is NaN for good, and NaNs that do no harm."""

from typing import Any

import pytest

from tests.diagnosis.builders import FOLDER, T0, journal, lib, py, started, steps
from tests.diagnosis.learning_curve_builders import array, batch, broke, falling, losses, model, not_finite, run, weight, weights
from tests.diagnosis.probe_fact_builders import inside
from unstall.diagnosis.causes import loss_not_finite
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown, Verdict
from unstall.journal.events import BatchSampled, ErrorRaised, ExitCalled, ProcessEnded

RISKY = [{"where": f"{FOLDER}/losses.py:12", "what": "a logarithm"}]
RUINED = weights(6, 750, weight(rms=None, not_finite=2048), weight("model/dense_1/kernel", rms=None, not_finite=4096))


def test_found_with_the_first_step_and_the_line_of_ones_own_loss() -> None:
    verdict = loss_not_finite.examine(run(model(risky=RISKY), steps(0, 699, at=4, loss=0.4), broke(700), not_finite(), RUINED))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "losses.py:12"
    assert "NaN since step 700, after 0.4 in step 699" in verdict.summary
    assert any("2 of 2 weights" in evidence.claim for evidence in verdict.evidence)


def test_found_with_the_row_of_the_inputs_that_is_not_a_number() -> None:
    bad = batch(array(not_finite=1, first_bad_row=22405), at=5.1, source="searched arrays")
    verdict = loss_not_finite.examine(run(model(risky=RISKY), broke(700), not_finite(), batch(array()), bad, RUINED))
    assert isinstance(verdict, Found)
    assert "row 22,405" in verdict.summary
    assert verdict.where == "train.py:60"


def test_found_when_only_the_weights_are_ruined() -> None:
    """A ReLU can turn NaN into 0: the loss looks as if nothing was wrong."""
    verdict = loss_not_finite.examine(run(model(), losses(2.3, *[1.386] * 18), RUINED))
    assert isinstance(verdict, Found)
    assert "dense_0/kernel and dense_1/kernel are not finite" in verdict.summary
    assert "and no loss was seen that is not finite" in verdict.summary


def test_found_without_a_reason_says_how_to_find_it() -> None:
    verdict = loss_not_finite.examine(run(model(), broke(3, last_loss=None), not_finite(first=3), backend="jax"))
    assert isinstance(verdict, Found)
    assert "jax_debug_nans" in verdict.actions[0]


def test_inputs_are_said_to_be_finite_only_where_some_were_looked_at() -> None:
    unseen = loss_not_finite.examine(run(model(), broke(3), not_finite(first=3)))
    seen = loss_not_finite.examine(run(model(), broke(3), not_finite(first=3), batch(array())))
    assert isinstance(unseen, Found) and isinstance(seen, Found)
    assert "The inputs were not looked at; where it comes from was not seen." in unseen.summary
    assert "see that the inputs are finite: numpy.isfinite" in unseen.actions
    assert "The inputs that were looked at are finite; where it comes from was not seen." in seen.summary


def test_clear_when_a_metric_is_nan_but_the_loss_is_not() -> None:
    assert isinstance(loss_not_finite.examine(run(model(), falling())), Clear)


def test_clear_when_inputs_hold_nan_which_the_model_fills() -> None:
    assert isinstance(loss_not_finite.examine(run(model(), falling(), batch(array(not_finite=400)))), Clear)


def test_clear_when_a_loss_scale_left_the_bad_step_out() -> None:
    fine = weights(6, 750, weight())
    assert isinstance(loss_not_finite.examine(run(model(loss_scaled=True), broke(2), not_finite(), fine)), Clear)


def test_found_where_a_loss_scale_has_left_out_every_step() -> None:
    unmoved = weights(19, 1800, weight(step=0.0, moved=0.0, units=32, still=32), window=400)
    verdict = loss_not_finite.examine(run(model(loss_scaled=True), broke(0), not_finite(), unmoved))
    assert isinstance(verdict, Found)
    assert "no weight that was looked at has changed in 400 steps" in verdict.summary and "float32" in verdict.actions[0]
    moved = weights(19, 1800, weight(step=0.001, moved=0.1, units=32, still=3), window=400)
    assert isinstance(loss_not_finite.examine(run(model(loss_scaled=True), broke(0), not_finite(), moved)), Clear)


def test_clear_when_the_loss_is_finite_again() -> None:
    again = steps(2001, 2200, at=25, loss=0.3)
    assert isinstance(loss_not_finite.examine(run(model(), broke(700), not_finite(), again, weights(24, 2100, weight()))), Clear)


def test_unknown_without_a_look_inside() -> None:
    assert isinstance(loss_not_finite.examine(journal(started())), Unknown)


def test_found_when_the_fit_ended_at_once() -> None:
    """TerminateOnNaN: no loss was read any more."""
    ended = steps(700, 701, at=5.2)
    assert isinstance(loss_not_finite.examine(run(model(), steps(0, 699, at=4, loss=0.4), broke(700), ended)), Found)


def test_found_when_the_programs_own_check_ended_it() -> None:
    frames: Any = [{"function": "my_loss", "file": f"{FOLDER}/losses.py", "line": 9, "module": ""}]
    error = ErrorRaised(
        at=T0 + 9, kind="tf.InvalidArgumentError", message="abc : Tensor had NaN values", frames=frames, fatal=True
    )
    verdict = loss_not_finite.examine(journal(started(), inside(), error))
    assert isinstance(verdict, Found)
    assert verdict.where == "losses.py:9"


def refusing(*arrays: dict[str, object]) -> Verdict:
    """Of a program that ended in a loss which refused its numbers, with what was seen of the batch then."""
    error = ErrorRaised(
        at=T0 + 59, kind="RuntimeError", message="all elements of input should be between 0 and 1", fatal=True,
        frames=[lib("torch/nn/functional.py", "binary_cross_entropy"), py("train.py", "<module>", 11)],
    )  # fmt: skip
    looked = BatchSampled(at=T0 + 59.1, facts={"source": "at the error", "batch": 3, "arrays": list(arrays)})
    return loss_not_finite.examine(journal(started(), inside(), error, looked, ProcessEnded(at=T0 + 60, exit_code=1)))


def test_inputs_that_are_finite_are_not_blamed_for_what_the_model_made_of_them() -> None:
    inputs: dict[str, object] = {"role": "x", "name": "", "shape": [32, 8], "min": -3.0, "max": 3.0}
    made: dict[str, object] = {"role": "argument", "name": "input", "shape": [32, 1], "not_finite": 32, "first_bad_row": 0}
    verdict = refusing(inputs, made)
    assert isinstance(verdict, Found)
    assert verdict.summary.startswith(
        "For finite inputs the loss was given numbers which are not finite (32 of 32, first in row 0)"
    )
    assert verdict.where == "train.py:11"
    only = refusing(made)
    assert isinstance(only, Found)
    assert "inputs" not in only.summary
    assert not isinstance(refusing(inputs, {**made, "not_finite": 0, "min": -1.2, "max": 3.4}), Found)


@pytest.mark.parametrize(
    ("message", "is_said"),
    [
        ("The loss value is NaN after training loop and it happens 1 times.", True),
        ("Training failed: NaN persisted for 4 epochs", True),
        ("Model diverged with loss = NaN.", True),
        ("Loss is nan, stopping training", True),
        ("loss is nanometers", False),
        ("the loss is None", False),
    ],
)
def test_found_where_a_trainer_says_in_its_own_words_that_it_stops_at_the_loss(message: str, is_said: bool) -> None:
    error = ErrorRaised(at=T0 + 9, kind="RuntimeError", message=message, frames=[py("train.py", "main", 14)], fatal=True)
    verdict = loss_not_finite.examine(journal(started(), inside(), error))
    assert isinstance(verdict, Found) == is_said
    assert not isinstance(verdict, Found) or verdict.effect is Effect.STOPS


def test_found_where_an_estimator_stops_at_a_loss_that_is_not_finite() -> None:
    kind = "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError"
    error = ErrorRaised(
        at=T0 + 9, kind=kind, message="NaN loss during training.", frames=[py("train.py", "main", 14)], fatal=True
    )
    verdict = loss_not_finite.examine(journal(started(), inside(), error))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:14"


def test_found_where_a_summary_of_tensorflow_meets_nan() -> None:
    message = "Nan in summary histogram for: losses/background_loss\n\t [[node losses/background_loss]]"
    error = ErrorRaised(at=T0 + 9, kind="InvalidArgumentError", message=message, frames=[py("train.py", "main", 14)], fatal=True)
    assert isinstance(loss_not_finite.examine(journal(started(), inside(), error)), Found)
    other = "Cannot draw a histogram of 3 classes: Nan in summary histogram for none"
    error = ErrorRaised(at=T0 + 9, kind="ValueError", message=other, frames=[py("train.py", "main", 14)], fatal=True)
    assert not isinstance(loss_not_finite.examine(journal(started(), inside(), error)), Found)


def ended_itself(code: int, not_finite: list[str]) -> Verdict:
    """A training whose losses were seen as finite, up to the step that was never taken."""
    at = f"{FOLDER}/engine.py:43"
    exited = ExitCalled(at=T0 + 50, exit_code=1, where=at, not_finite=not_finite)
    return loss_not_finite.examine(run(model(), falling(), exited, ProcessEnded(at=T0 + 51, exit_code=code)))


def test_found_where_the_program_looked_at_the_loss_and_ended_itself() -> None:
    verdict = ended_itself(1, ["loss_value = nan", "losses = nan"])
    assert isinstance(verdict, Found) and verdict.certainty is Certainty.CERTAIN and verdict.effect is Effect.STOPS
    assert verdict.summary.startswith("The loss is NaN (`loss_value`), and the program ended itself at that.")
    assert verdict.where == "engine.py:43"


def test_clear_where_the_program_ended_itself_for_another_reason() -> None:
    assert isinstance(ended_itself(1, []), Clear)
    assert isinstance(ended_itself(0, ["loss_value = nan"]), Clear)
