"""A folder of runs is followed by reading what is added, and little is kept of each."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.builders import T0, main, py, stacks
from unstall.diagnosis.workers.follower import WorkersFollower
from unstall.journal.events import (
    Event,
    HostSampled,
    MembershipSeen,
    ProcessEnded,
    RunStarted,
    StallBegan,
    StepsEnded,
    VerdictReached,
)
from unstall.journal.writer import JournalWriter

STALL = StallBegan(at=T0 + 108, phase="train", step=381, since=T0 + 100)


def write(home: Path, number: int, role: str, *events: Event) -> None:
    folder = home / f"run-{number}"
    folder.mkdir(exist_ok=True)
    writer = JournalWriter(folder / f"events-{role}-{number}.jsonl")
    for event in events:
        writer.write(event)
    writer.close()


def begin(home: Path, count: int = 3) -> None:
    for number in range(count):
        event = MembershipSeen(at=T0, worker=number, of=count, coordinator="10.0.0.1:1")
        write(home, number, "watcher", RunStarted(at=T0, command=["python", "train.py"]), event)
        write(home, number, "inside", StepsEnded(at=T0 + 100, last=380))


def test_the_one_that_stands_elsewhere_is_named_from_what_was_added(tmp_path: Path) -> None:
    begin(tmp_path)
    follower = WorkersFollower(tmp_path)
    follower.look(now=100)
    assert not follower.blockage(now=100)
    for number in (0, 2):
        write(tmp_path, number, "watcher", STALL, VerdictReached(at=T0 + 111, cause="collective_stuck"))
    write(tmp_path, 1, "watcher", STALL, VerdictReached(at=T0 + 111, cause="lock_deadlock", where="loader.py:43"))
    follower.look(now=112)
    (run_group, blockage), *rest = follower.blockage(now=112)
    assert not rest and len(run_group) == 3 and blockage.held == 2
    assert [(holder.snapshot.run, holder.words) for holder in blockage.holders] == [("run-1", "lock_deadlock at loader.py:43")]


def test_one_that_falls_silent_is_named_although_its_journal_says_nothing(tmp_path: Path) -> None:
    begin(tmp_path)
    follower = WorkersFollower(tmp_path)
    follower.look(now=100)
    for number in (0, 2):
        write(tmp_path, number, "watcher", STALL, VerdictReached(at=T0 + 111, cause="collective_stuck"))
    follower.look(now=112)
    assert [holder.snapshot.run for _, blockage in follower.blockage(now=112) for holder in blockage.holders] == ["run-1"]


def test_what_is_passed_over_still_shows_that_it_lives(tmp_path: Path) -> None:
    begin(tmp_path)
    follower = WorkersFollower(tmp_path)
    follower.look(now=100)
    for number in (0, 2):
        write(tmp_path, number, "watcher", STALL, VerdictReached(at=T0 + 111, cause="collective_stuck"))
    write(tmp_path, 1, "watcher", stacks(main(py("train.py", "evaluate", 5)), at=110))
    follower.look(now=112)
    assert not follower.blockage(now=112)


def test_runs_that_come_later_and_files_that_come_later_are_found(tmp_path: Path) -> None:
    follower = WorkersFollower(tmp_path)
    follower.look(now=1)
    assert follower.snapshots == []
    begin(tmp_path, count=2)
    follower.look(now=2)
    assert [(each.worker, each.step) for each in sorted(follower.snapshots, key=lambda each: each.run)] == [(0, 381), (1, 381)]
    write(tmp_path, 0, "watcher", HostSampled(at=T0 + 130))
    follower.look(now=3)
    assert max(each.last_at for each in follower.snapshots) == T0 + 130


def test_the_begin_and_the_end_of_a_long_journal_are_enough(tmp_path: Path) -> None:
    begin(tmp_path, count=2)
    many = [StepsEnded(at=T0 + 200 + number, last=400 + number, loss=0.123456789) for number in range(3000)]
    write(tmp_path, 0, "inside", *many)
    follower = WorkersFollower(tmp_path)
    follower.look(now=1)
    assert {each.run: (each.worker, each.step) for each in follower.snapshots} == {"run-0": (0, 3400), "run-1": (1, 381)}


def test_of_two_trainings_at_one_address_the_newest_counts(tmp_path: Path) -> None:
    begin(tmp_path, count=2)
    for number in (5, 6):
        event = MembershipSeen(at=T0 + 900, worker=number - 5, of=2, coordinator="10.0.0.1:1")
        write(tmp_path, number, "watcher", RunStarted(at=T0 + 900), event)
    follower = WorkersFollower(tmp_path)
    follower.look()
    assert [sorted(each.run for each in run_group) for run_group in follower.run_groups()] == [["run-5", "run-6"]]


def test_through_a_bucket_nobody_is_called_silent_so_soon(tmp_path: Path) -> None:
    begin(tmp_path)
    follower = WorkersFollower(tmp_path, late_s=15)
    follower.look(now=100)
    for number in (0, 2):
        write(tmp_path, number, "watcher", STALL, VerdictReached(at=T0 + 111, cause="collective_stuck"))
    follower.look(now=112)
    assert not follower.blockage(now=112)
    assert [holder.snapshot.run for _, blockage in follower.blockage(now=126) for holder in blockage.holders] == ["run-1"]
    follower.excuse(60)  # nobody could look for so long
    assert not follower.blockage(now=126)


def test_a_folder_beside_the_runs_does_not_keep_them_from_having_ended(tmp_path: Path) -> None:
    begin(tmp_path, count=2)
    (tmp_path / "notes").mkdir()
    follower = WorkersFollower(tmp_path)
    follower.look(now=1)
    assert not follower.has_ended
    for number in range(2):
        write(tmp_path, number, "watcher", ProcessEnded(at=T0 + 200, exit_code=0))
    follower.look(now=2)
    assert follower.has_ended
