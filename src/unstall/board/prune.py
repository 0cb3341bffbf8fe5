"""Runs removed, or their checkpoints alone. Never one that goes on; each is renamed first, so that nobody meets half of one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstall.base.files import FileLock
from unstall.board.rows import Row, read_row
from unstall.journal.run_folder import LOCK_FILE, RunFolder, explain_unreadable

PREFIX = ".pruned-"


@dataclass(frozen=True)
class RunToPrune:
    run: RunFolder
    row: Row
    paths: tuple[Path, ...]  # that would go
    size_bytes: int


def select_runs_to_prune(runs: list[tuple[RunFolder, Row]], keep: int | None, checkpoints_only: bool) -> list[RunToPrune]:
    """Of runs that were chosen, oldest first: all but the newest `keep`, and but those that go on, or cannot be looked into: they
    may go on, too."""
    kept = set(range(len(runs) - keep, len(runs))) if keep else set()
    found = []
    for number, (run, row) in enumerate(runs):
        if number in kept or row["is_live"] or run.path.is_symlink() or explain_unreadable(run.path) is not None:
            continue
        paths = tuple(path for path in _paths(run, checkpoints_only) if path.exists() and not path.is_symlink())
        if paths:
            found.append(RunToPrune(run, row, paths, sum(map(measure_size, paths))))
    return found


def _paths(run: RunFolder, checkpoints_only: bool) -> list[Path]:
    return [run.checkpoints_path, run.compiled_path, run.bad_batches_path] if checkpoints_only else [run.path]


def measure_size(path: Path) -> int:
    """Of all files in it; links are not followed."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118
            except OSError:
                continue
    return total


def prune(chosen: list[RunToPrune], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """What went, a row each. A run that has begun again meanwhile stays, and so does what the system does not let go."""
    return [row for each in chosen if (row := _prune(each, say)) is not None]


def _prune(each: RunToPrune, say: Callable[[str], None]) -> dict[str, Any] | None:
    with _held(each.run) as is_free:
        if not is_free or read_row(each.run)["is_live"]:
            say(f"{each.run.name} goes on again: it stays")
            return None
        try:
            for path in each.paths:
                aside = path.with_name(PREFIX + path.name)
                path.rename(aside)
                shutil.rmtree(aside)
        except OSError as error:
            say(f"{each.run.name} could not be removed: {error.strerror}: {error.filename}")
            return None
    return as_plain(each)


@contextmanager
def _held(run: RunFolder) -> Iterator[bool]:
    """Of a training, its lock: nobody can resume it meanwhile."""
    try:
        lock = FileLock(run.path / LOCK_FILE)
    except FileNotFoundError:
        yield True
        return
    except OSError:
        yield False
        return
    with lock:
        yield lock.acquire()


def as_plain(each: RunToPrune) -> dict[str, Any]:
    names = [path.name for path in each.paths]
    return {"run": each.run.name, "state": each.row["state"], "bytes": each.size_bytes, "removed": names}
