"""The workers in run folders: a run each, one run with the journals of several, and those of a training of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.builders import FOLDER, T0, host, main, py, stacks, stalled, steps
from tests.diagnosis.workers.builders import rank_seen
from tests.diagnosis.workers.run_folders import LOADS, REDUCES, STEP, write, written_worker
from unstall.base.errors import RunNotFoundError
from unstall.diagnosis.findings import diagnose_workers
from unstall.diagnosis.workers.activity import Activity, find_place
from unstall.diagnosis.workers.follower import find_run_groups
from unstall.diagnosis.workers.members import group_members
from unstall.diagnosis.workers.reader import find_runs, list_members, read_members
from unstall.journal.events import ProgramStarted, RunStarted, VerdictReached
from unstall.journal.run_folder import RunFolder


def test_a_folder_that_holds_runs_gives_them_all(tmp_path: Path) -> None:
    written_worker(tmp_path, 0, REDUCES)
    written_worker(tmp_path, 1, LOADS)
    (tmp_path / "notes").mkdir()
    found = find_runs([f"{tmp_path}/"])
    run_group = group_members(read_members(found)).run_groups[0]
    assert [(member.name, find_place(member).where) for member in run_group.members] == [
        ("worker 0", "train.py:36"),
        ("worker 1", "loader.py:12"),
    ]


def test_a_run_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    run = written_worker(tmp_path, 0, REDUCES)
    assert [each.path for each in find_runs([str(run.path), f"{tmp_path}/"])] == [run.path]


def test_a_folder_without_any_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunNotFoundError, match="holds no run"):
        find_runs([f"{tmp_path}/"])


def test_one_run_with_the_journals_of_several_workers(tmp_path: Path) -> None:
    """As torchrun starts them: one watcher sees the stacks of all."""
    run = RunFolder(tmp_path / "run")
    waits, elsewhere = main(*REDUCES["frames"]), main(py("train.py", "evaluate", 90), *STEP[1:])
    seen = [
        stacks(thread, at=at, main=pid == 11, pid=pid) for at in (109, 110, 111) for pid, thread in ((11, waits), (12, elsewhere))
    ]
    began = RunStarted(at=T0, mode="run", command=["torchrun", "train.py"], folder=FOLDER, pid=10)
    write(run.journal_path("watcher", 2), began, *[host(at) for at in range(101, 112)], stalled(since=100, at=108), *seen)
    for worker, pid in enumerate((11, 12)):
        rows = [ProgramStarted(at=T0, pid=pid), rank_seen(worker), steps(300, 380, at=100)]
        write(run.journal_path("probe", pid), *rows)
    first, second = list_members(run)
    assert (find_place(first).doing, find_place(second).doing) == (Activity.COLLECTIVE, Activity.STANDS)
    root = diagnose_workers(group_members([first, second]).run_groups[0]).root
    assert root is not None and (root.cause, root.found.where) == ("collective_stuck", "train.py:90")


def test_a_training_of_ours_with_a_folder_for_each_further_worker(tmp_path: Path) -> None:
    run = written_worker(tmp_path, 0, REDUCES, name="run")
    written_worker(run.path / "workers", 1, LOADS, name="1")
    assert [(member.run, member.worker) for member in list_members(run)] == [("run", 0), ("run/workers/1", 1)]


def test_a_machine_with_several_further_workers_has_them_in_the_folder_of_its_first(tmp_path: Path) -> None:
    run = written_worker(tmp_path, 0, REDUCES, name="run")
    for worker in (1, 2, 10):
        written_worker(run.path / "workers", worker, REDUCES, name=str(worker))
    written_worker(run.path / "workers" / "2" / "workers", 3, LOADS, name="3")
    assert [member.run for member in list_members(run)] == [
        "run", "run/workers/1", "run/workers/2", "run/workers/2/workers/3", "run/workers/10",
    ]  # fmt: skip


def test_a_machine_without_the_first_worker_has_the_journals_of_its_own(tmp_path: Path) -> None:
    written_worker(tmp_path / "run" / "workers", 2, REDUCES, name="2")
    written_worker(tmp_path / "run" / "workers" / "2" / "workers", 3, LOADS, name="3")
    found = find_runs([str(tmp_path / "run")])
    assert [member.worker for member in read_members(found)] == [2, 3]


def test_of_very_many_only_those_are_read_that_say_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unstall.diagnosis.workers.follower.READ_WHOLE_UP_TO", 11)
    for worker in range(12):
        run = written_worker(tmp_path, worker, LOADS if worker == 7 else REDUCES, of=12, name=f"run-{worker:02d}")
        cause = "generator_blocked" if worker == 7 else "collective_stuck"
        write(run.journal_path("watcher", 2), VerdictReached(at=T0 + 111, cause=cause))
    write(tmp_path / "alone" / "events-watcher-5.jsonl", RunStarted(at=T0, command=["python", "x.py"]))
    (run_group,), alone = find_run_groups(tmp_path)
    assert alone == ["alone"]
    assert run_group.of == 12 and not run_group.not_read
    assert 7 in {member.worker for member in run_group.members} and len(run_group.members) == 9
    root = diagnose_workers(run_group).root
    assert root is not None and (root.cause, root.found.where) == ("collective_stuck", "loader.py:12")


def test_among_many_runs_a_small_group_is_read_whole(tmp_path: Path) -> None:
    written_worker(tmp_path, 0, REDUCES)
    written_worker(tmp_path, 1, LOADS)
    (run_group,), _ = find_run_groups(tmp_path)
    assert [member.worker for member in run_group.members] == [0, 1]
