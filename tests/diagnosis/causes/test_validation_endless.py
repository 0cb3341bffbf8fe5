"""validation_endless: no end, or samples given as steps."""

from typing import Any

from tests.diagnosis.builders import T0, journal, started, steps
from tests.diagnosis.pipeline_events import described, fit
from unstall.diagnosis.causes import validation_endless
from unstall.diagnosis.verdict import Certainty, Clear, Effect, Found, Unknown
from unstall.journal.events import Event, PhaseBegan, PhaseEnded
from unstall.journal.reader import Journal


def validating(
    steps_done: int, seconds: float, ended: bool = False, epoch_s: float = 10.0, api: str = "keras", **source: Any
) -> Journal:
    """An epoch of training, then a validation that has made so many steps in so many seconds."""
    began = 20.0
    events: list[Event] = [
        started(),
        described(1, batches=-1, steps_per_epoch=100),
        fit(1, api=api, steps_per_epoch=100, epochs=5),
        steps(0, 99, at=began, each_s=epoch_s / 100),
        described(began, role="validate", **source),
        PhaseBegan(at=T0 + began, phase="validate"),
        steps(0, steps_done - 1, at=began + seconds, each_s=seconds / steps_done, phase="validate"),
    ]
    if ended:
        events.append(PhaseEnded(at=T0 + began + seconds, phase="validate", seconds=seconds))
    return journal(*events, now=began + seconds)


def test_found_when_the_data_repeat_for_ever_and_no_steps_are_given() -> None:
    verdict = validation_endless.examine(validating(500, 8.0, batches=-1, batches_per_pass=32))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.effect is Effect.STOPS
    assert verdict.where == "train.py:90"
    assert "never end" in verdict.summary
    assert "15.6 times through the data" in verdict.summary


def test_found_for_a_generator_that_loops_for_ever() -> None:
    verdict = validation_endless.examine(validating(500, 8.0, kind="generator", never_ends=True))
    assert isinstance(verdict, Found)
    assert "generator loops for ever" in verdict.summary


def test_found_in_a_loop_of_ones_own_that_has_gone_over_its_data_many_times() -> None:
    verdict = validation_endless.examine(validating(500, 30.0, api="own_loop", batches=-1, batches_per_pass=10))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "50 times through the data" in verdict.summary


def test_clear_in_a_loop_of_ones_own_that_may_be_left_by_a_break() -> None:
    short_passes = validating(500, 60.0, api="own_loop", batches=-1, batches_per_pass=188)
    soon = validating(500, 8.0, api="own_loop", batches=-1, batches_per_pass=10)
    unknown_length = validating(500, 60.0, api="own_loop", batches=-1)
    left = validating(500, 60.0, ended=True, api="own_loop", batches=-1, batches_per_pass=10)
    for journal_ in (short_passes, soon, unknown_length, left):
        assert isinstance(validation_endless.examine(journal_), Clear)


def test_clear_for_a_generator_that_may_end() -> None:
    assert isinstance(validation_endless.examine(validating(500, 60.0, kind="generator")), Clear)


def test_nothing_is_said_in_the_first_seconds() -> None:
    assert isinstance(validation_endless.examine(validating(50, 2.0, batches=-1)), Clear)


def test_found_when_the_steps_are_the_samples() -> None:
    verdict = validation_endless.examine(validating(800, 10.0, batches=-1, batches_per_pass=188, steps_per_epoch=6_000))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.effect is Effect.SLOWS
    assert "32 passes over the data, of 188 batches each" in verdict.summary
    assert "75 s" in verdict.summary
    assert verdict.actions[0] == "give validation_steps=188"


def test_clear_when_the_steps_are_a_few_passes() -> None:
    assert isinstance(
        validation_endless.examine(validating(200, 20.0, batches=-1, batches_per_pass=250, steps_per_epoch=500)), Clear
    )


def test_clear_when_so_many_passes_take_no_time() -> None:
    assert isinstance(
        validation_endless.examine(validating(60, 10.0, batches=-1, batches_per_pass=10, steps_per_epoch=100)), Clear
    )


def test_likely_for_a_generator_whose_validation_dwarfs_the_epoch() -> None:
    verdict = validation_endless.examine(validating(1_000, 10.0, epoch_s=10.0, kind="generator", steps_per_epoch=20_000))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.LIKELY
    assert "divide validation_steps" in verdict.actions[0]


def test_clear_for_a_long_validation_that_is_in_proportion() -> None:
    assert isinstance(
        validation_endless.examine(validating(1_000, 20.0, epoch_s=60.0, kind="generator", steps_per_epoch=8_000)), Clear
    )


def test_clear_when_it_ended() -> None:
    assert isinstance(validation_endless.examine(validating(200, 20.0, ended=True, batches=200)), Clear)


def test_a_later_validation_uses_the_same_input() -> None:
    first = validating(500, 8.0, ended=True, batches=-1, batches_per_pass=188, steps_per_epoch=6_000)
    first.extend(
        [
            steps(100, 199, at=60, each_s=0.1),
            PhaseBegan(at=T0 + 60, phase="validate"),
            steps(0, 999, at=72, each_s=0.012, phase="validate"),
        ]
    )
    assert isinstance(validation_endless.examine(first), Found)


def test_found_for_an_evaluate_outside_of_a_fit() -> None:
    alone = journal(
        started(),
        described(5, batches=-1),
        PhaseBegan(at=T0 + 5.1, phase="validate"),
        steps(0, 99, at=15, each_s=0.1, phase="validate"),
        now=15,
    )
    verdict = validation_endless.examine(alone)
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:90"
    assert (
        "without `steps` nothing says where to stop" in verdict.summary and "give steps:" in verdict.actions[1]
    )  # as evaluate calls it


def test_unknown_without_any_phase() -> None:
    assert isinstance(validation_endless.examine(journal(started())), Unknown)
