"""Runs of several workers as they lie in a folder, written by the journal's own writer."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.builders import FOLDER, T0, host, stalled, steps, three
from tests.diagnosis.workers.builders import LOADS, REDUCES, STEP, machine, rank_seen
from unstall.journal.events import Event, ProgramStarted, RunStarted, ThreadStack
from unstall.journal.run_folder import RunFolder
from unstall.journal.writer import JournalWriter

__all__ = ["LOADS", "REDUCES", "STEP", "write", "written_worker"]


def write(path: Path, *events: Event) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = JournalWriter(path)
    for event in events:
        writer.write(event)
    writer.close()


def written_worker(home: Path, worker: int, thread: ThreadStack, of: int = 2, name: str = "") -> RunFolder:
    """A worker that stands still at that stack, with its watcher."""
    run = RunFolder(home / (name or f"2026-11-15-12000{worker}-train"))
    began = RunStarted(at=T0, mode="run", command=["python", "train.py"], folder=FOLDER, pid=1)
    idle = [host(second) for second in range(101, 112)]
    place = [rank_seen(worker, of), machine(worker)]
    write(run.journal_path("watcher", 2), began, *place, *idle, stalled(since=100, at=108), *three(thread))
    write(run.journal_path("probe", 1), ProgramStarted(at=T0, pid=1, python="3.11.7"), steps(300, 380, at=100))
    return run
