"""Who holds the others, by a few numbers of each worker."""

from __future__ import annotations

from tests.diagnosis.builders import T0
from unstall.diagnosis.workers.blocker import find_blockage
from unstall.diagnosis.workers.snapshot import WorkerSnapshot
from unstall.journal.events import Event, MembershipSeen, ProcessEnded, StallBegan, StallEnded, StepsEnded, VerdictReached

STALL = StallBegan(at=T0 + 108, phase="train", step=381, since=T0 + 100)
WAITS = VerdictReached(at=T0 + 111, cause="collective_stuck", where="train.py:36")
NOW = T0 + 113


def worker(number: int, *events: Event, heard_at: float = NOW - 1) -> WorkerSnapshot:
    snapshot = WorkerSnapshot(f"run-{number}")
    first = [MembershipSeen(at=T0, worker=number, of=4, coordinator="c"), StepsEnded(at=T0 + 100, last=380)]
    snapshot.take([*first, *events], heard_at)
    return snapshot


def waiting(number: int) -> WorkerSnapshot:
    return worker(number, STALL, WAITS)


def named(*workers: WorkerSnapshot) -> list[tuple[str, str]]:
    held = find_blockage(workers, NOW)
    return [(holder.snapshot.name, holder.kind) for holder in held.holders] if held else []


def test_the_one_whose_watcher_names_another_cause() -> None:
    blocked = VerdictReached(at=T0 + 111, cause="generator_blocked", where="loader.py:12")
    assert named(waiting(0), waiting(1), waiting(2), worker(3, STALL, blocked)) == [("worker 3", "elsewhere")]


def test_the_one_that_stands_still_and_is_in_no_collective() -> None:
    looked = VerdictReached(at=T0 + 99, cause="input_starved")  # of before: says nothing of this stall
    stands = worker(3, looked, STALL, StepsEnded(at=T0 + 112.5, phase="validate"))
    assert named(waiting(0), waiting(1), stands) == [("worker 3", "still")]


def test_the_one_of_which_nothing_is_heard() -> None:
    assert named(waiting(0), waiting(1), worker(2, heard_at=NOW - 11)) == [("worker 2", "silent")]


def test_the_one_that_has_left_and_the_one_that_has_ended() -> None:
    killed, done = ProcessEnded(at=T0 + 101, signal=9), ProcessEnded(at=T0 + 101, exit_code=0)
    assert named(waiting(0), waiting(1), worker(2, killed)) == [("worker 2", "left")]
    assert named(waiting(0), waiting(1), worker(2, done)) == [("worker 2", "ended")]


def test_the_one_that_is_a_step_behind() -> None:
    behind = worker(3, StallBegan(at=T0 + 108, phase="train", step=380, since=T0 + 100), WAITS)
    assert named(waiting(0), waiting(1), waiting(2), behind) == [("worker 3", "behind")]
    assert named(waiting(0), waiting(1), worker(2, STALL), behind) == []  # one has not been looked at yet


def test_nobody_while_nobody_waits() -> None:
    assert named(worker(0), worker(1), worker(2)) == []
    assert named(worker(0), worker(1, heard_at=NOW - 100)) == []
    assert named(worker(0, STALL, WAITS, StallEnded(at=T0 + 112)), worker(1, STALL)) == []


def test_nobody_when_one_evaluates_alone_and_moves() -> None:
    evaluates = worker(2, StepsEnded(at=T0 + 112, phase="validate"))
    assert named(waiting(0), waiting(1), evaluates) == []


def test_nobody_when_many_watchers_are_merely_late() -> None:
    """On busy machines several have said nothing yet, or were not heard of for a while."""
    late = [worker(number, STALL, StepsEnded(at=T0 + 112.5, phase="validate")) for number in (2, 3)]
    assert named(waiting(0), waiting(1), waiting(4), *late) == []
    assert named(waiting(0), waiting(1), waiting(4), *(worker(number, heard_at=NOW - 11) for number in (2, 3))) == []


def test_one_that_is_named_counts_more_than_one_that_is_late() -> None:
    blocked = worker(3, STALL, VerdictReached(at=T0 + 111, cause="lock_deadlock"))
    assert named(waiting(0), waiting(1), worker(2, heard_at=NOW - 11), blocked) == [("worker 3", "elsewhere")]


def test_nobody_when_more_than_half_look_like_it() -> None:
    assert named(waiting(0), worker(1, heard_at=NOW - 99), worker(2, heard_at=NOW - 99)) == []
