"""Where a worker is, by its own journal: its step, what it does and its own line."""

from __future__ import annotations

from tests.diagnosis.builders import T0, py, stuck, three
from tests.diagnosis.workers.builders import LOADS, joins, loads, member, run_group, trains, waits
from unstall.diagnosis.workers.activity import Activity, compute_silent_s, find_place
from unstall.journal.events import ErrorRaised, PhaseBegan, ProcessEnded
from unstall.journal.reader import Journal


def doing(result: Journal) -> tuple[Activity, str]:
    place = find_place(member(0, result))
    return place.doing, place.words


def test_in_a_collective_operation_and_joining() -> None:
    assert doing(waits()) == (Activity.COLLECTIVE, "waits in a collective of torch.distributed at train.py:36")
    assert doing(joins()) == (Activity.JOINS, "joins torch.distributed at train.py:20")


def test_elsewhere_with_its_own_line_and_step() -> None:
    place = find_place(member(1, loads()))
    assert (place.doing, place.where, place.step) == (Activity.STANDS, "loader.py:12", 381)
    assert place.words == "waits for the network at loader.py:12"


def test_one_that_uses_the_cpu_works() -> None:
    assert doing(stuck(*three(LOADS), cpu=0.9)) == (Activity.WORKS, "works at loader.py:12")


def test_one_that_moves_trains_or_evaluates() -> None:
    assert doing(trains()) == (Activity.TRAINS, "trains, 381 steps done")
    assert doing(trains(PhaseBegan(at=T0 + 111.5, phase="validate")))[0] is Activity.EVALUATES


def test_how_it_ended() -> None:
    assert doing(trains(ProcessEnded(at=T0 + 112, exit_code=0))) == (Activity.ENDED, "ended in order after step 381")
    assert doing(trains(ProcessEnded(at=T0 + 112, signal=9))) == (Activity.LEFT, "was killed by signal 9 after step 381")
    error = ErrorRaised(at=T0 + 112, kind="ValueError", message="bad box", frames=[py("train.py", "step", 7)], fatal=True)
    assert doing(trains(error, ProcessEnded(at=T0 + 112, exit_code=1))) == (
        Activity.LEFT,
        "ended with exit code 1 after step 381 at train.py:7: ValueError: bad box",
    )


def test_one_that_was_ended_because_it_stood_still_is_where_it_stood() -> None:
    result = waits()
    result.extend([ProcessEnded(at=T0 + 113, signal=15, stopped_by_us=True)])
    assert find_place(member(0, result)).doing is Activity.COLLECTIVE


def test_for_how_long_one_has_told_nothing() -> None:
    quiet, other = member(1, trains(now=50)), member(0, waits())
    assert compute_silent_s(run_group(other, quiet), quiet) == 62.0
    assert compute_silent_s(run_group(other, quiet), other) == 0.0
