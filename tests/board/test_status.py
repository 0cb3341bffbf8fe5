"""What a list says of a run, from its newest events."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import T0, host, stalled, started, steps
from unstall.board.status import UNNAMED_STALL_S, RunStatus
from unstall.journal.events import (
    ErrorRaised,
    Event,
    FitBegan,
    PlanMade,
    ProcessEnded,
    RepairsEnded,
    RunStarted,
    SignalSent,
    StallEnded,
    TrainingBegan,
    TrainingEnded,
)

WORKER = RunStarted(at=T0, mode="train", command=["python", "-m", "unstall.training"])
FIT = FitBegan(at=T0 + 1, epochs=4, steps_per_epoch=250)


def status(*events: Event) -> RunStatus:
    seen = RunStatus()
    seen.take(events)
    return seen


def state(*events: Event, now: float = 30.0, is_live: bool = True, is_named: bool = False) -> str:
    return status(*events).state(T0 + now, is_live, is_named)


# --- states ---


def test_a_program_runs_begins_to_train_and_trains() -> None:
    assert state(started()) == "running"
    assert state(started(), FIT) == "starting"
    assert state(started(), FIT, steps(0, 9, at=9)) == "training"


def test_a_stall_that_nobody_has_named_is_slow_until_it_has_lasted() -> None:
    moved = [started(), FIT, steps(0, 9, at=9), host(12), host(15), stalled(since=10, at=18)]
    assert state(*moved, now=19) == "slow"
    assert state(*moved, now=19, is_named=True) == "stuck"
    assert state(*moved, now=10 + UNNAMED_STALL_S) == "stuck"
    assert state(*moved, StallEnded(at=T0 + 25), now=60) == "training"


def test_a_stall_that_an_interrupt_has_ended_is_interrupted_until_a_fit_goes_on() -> None:
    """In a notebook the process lives on; a signal alone may be swallowed, and then it is stuck as before."""
    stands = [started(), FIT, steps(0, 9, at=9), host(12), host(15), stalled(since=10, at=18)]
    interrupt = ErrorRaised(at=T0 + 21, kind="KeyboardInterrupt", thread="MainThread")
    assert state(*stands, SignalSent(at=T0 + 21, signal=15), is_named=True) == "stuck"
    assert state(*stands, interrupt, is_named=True) == "interrupted"
    assert state(*stands, interrupt, StallEnded(at=T0 + 25), steps(0, 9, at=26), now=60) == "training"
    assert state(started(), FIT, steps(0, 9, at=9), interrupt) == "training"  # it did not stand still


def test_a_stall_of_a_program_that_works_is_slow_however_long() -> None:
    busy = [host(second, 1.0) for second in range(11, 300)]
    assert state(started(), FIT, steps(0, 9, at=9), stalled(since=10, at=40), *busy, now=300) == "slow"


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (ProcessEnded(at=T0 + 20, exit_code=0), "done"),
        (ProcessEnded(at=T0 + 20, exit_code=1), "failed"),
        (ProcessEnded(at=T0 + 20, signal=9), "killed"),
    ],
)
def test_how_it_ended_is_said_also_of_a_run_whose_files_are_fresh(ended: ProcessEnded, said: str) -> None:
    assert state(started(), FIT, steps(0, 9, at=9), ended) == said


def test_a_run_that_nobody_watches_any_more_has_ended() -> None:
    assert state(started(), FIT, steps(0, 9, at=9), is_live=False) == "ended"


def test_a_training_whose_worker_died_is_not_failed_while_it_is_being_treated() -> None:
    died = [WORKER, steps(0, 9, at=9), ProcessEnded(at=T0 + 20, exit_code=76)]
    assert state(*died, now=21) == "starting"
    assert state(*died, RepairsEnded(at=T0 + 21, cause="device_memory_exhausted"), now=22) == "failed"
    assert state(*died, now=500) == "failed"
    again = RunStarted(at=T0 + 25, mode="train")
    plan = PlanMade(at=T0 + 22, attempt=1)
    assert state(*died, plan, again, now=26) == "starting"
    assert state(*died, plan, again, steps(0, 3, at=30), now=31) == "repaired"
    assert state(*died, plan, again, steps(0, 3, at=30), ProcessEnded(at=T0 + 40, exit_code=0), now=41) == "done"


# --- progress ---


def test_steps_are_told_of_all_epochs() -> None:
    assert status(started(), FIT, steps(0, 299, at=60)).progress()["step"] == 300
    assert status(started(), FIT, steps(0, 299, at=60)).progress()["steps"] == 1000


def test_a_worker_that_goes_on_from_a_checkpoint_counts_the_steps_before_it() -> None:
    began = TrainingBegan(at=T0 + 2, from_step=500, epochs=4, steps_per_epoch=250, batch_size=16)
    assert status(WORKER, began).progress()["step"] == 500
    assert status(WORKER, began, steps(0, 99, at=30)).progress()["step"] == 600
    assert status(WORKER, began, steps(0, 99, at=30), TrainingEnded(at=T0 + 40, step=612)).progress()["step"] == 612


def test_steps_before_a_stall_count_although_the_program_has_not_written_them() -> None:
    """Whoever watches it saw them in its pulse, and the story tells them."""
    stuck = [started(), FIT, steps(0, 7, at=9), stalled(since=10, at=18, step=39)]
    assert status(*stuck).progress()["step"] == 39
    assert status(*stuck, StallEnded(at=T0 + 25), steps(8, 49, at=26)).progress()["step"] == 50
    began = TrainingBegan(at=T0 + 2, from_step=500, epochs=4, steps_per_epoch=250)
    assert status(WORKER, began, steps(0, 7, at=9), stalled(since=10, at=18, step=39)).progress()["step"] == 539


def test_an_input_without_end_has_no_number_of_steps() -> None:
    assert status(started(), FitBegan(at=T0, epochs=3), steps(0, 9, at=9)).progress()["steps"] is None


def test_speed_is_of_the_last_seconds_in_images_where_a_step_has_a_known_number() -> None:
    slow, fast = (
        steps(1, 10, at=20, each_s=1.0),
        [steps(first, first + 9, at=60 + first / 10, each_s=0.1) for first in range(11, 200, 10)],
    )
    speed = status(started(), FIT, slow, *fast).speed()
    assert speed is not None and (speed["value"], speed["unit"]) == (pytest.approx(10), "steps/s")
    began = TrainingBegan(at=T0 + 2, epochs=4, steps_per_epoch=250, batch_size=16)
    images = status(WORKER, began, *fast).speed()
    assert images is not None and (images["value"], images["unit"]) == (pytest.approx(160), "images/s")


def test_what_is_left_takes_as_long_as_what_was_done_after_the_first_step() -> None:
    moved = [steps(0, 0, at=30, each_s=25.0), steps(1, 100, at=50), steps(101, 200, at=70)]
    assert status(started(), FIT, *moved).left_s() == pytest.approx((1000 - 201) * 0.2)
    assert status(started(), FIT, moved[0]).left_s() is None
