"""All runs of a folder as rows, kept up to date by as little reading as can be.

A look lists the folder and asks when each run folder was changed; only runs that go on, and those whose folder has changed, are
read. Each row knows by a number when it was last other than before, so that a page asks for what is new to it alone.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstall.board.rows import Reader, Row
from unstall.board.status import FRESH_S
from unstall.diagnosis.workers.blocker import Blockage, find_blockage
from unstall.diagnosis.workers.snapshot import WorkerSnapshot
from unstall.journal.reader import JOURNAL_FILES
from unstall.journal.run_folder import RunFolder, explain_unreadable

LOOK_EVERY_S = 0.8
MAX_RUNS = 5000


@dataclass
class Entry:
    reader: Reader
    changed_ns: int  # the folder, when it was read
    row: Row
    number: int  # of the look at which the row became what it is


class Catalogue:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.era = secrets.token_hex(4)  # of this process: numbers of another one mean nothing
        self.number = 0
        self._entries: dict[str, Entry] = {}
        self._others: dict[str, int] = {}  # folders that are no runs, and when they were changed
        self._gone: dict[str, int] = {}
        self._looked_at = 0.0
        self._lock = threading.Lock()

    def look(self, is_urgent: bool = False) -> list[Row]:
        """All rows, the most urgent first. Asked again within a moment, it says the same, unless that is not enough."""
        with self._lock:
            if is_urgent or time.monotonic() - self._looked_at >= LOOK_EVERY_S:
                self._look()
                self._looked_at = time.monotonic()
            return sort_entries([entry.row for entry in self._entries.values()])

    def changed_since(self, number: int) -> tuple[list[Row], list[str]]:
        """Rows that became other after that number, and the names of runs that are gone since."""
        with self._lock:
            rows = [entry.row for entry in self._entries.values() if entry.number > number]
            return rows, [name for name, at in self._gone.items() if at > number]

    def find(self, name: str) -> RunFolder | None:
        """Only what the folder itself holds is a run: no name leads out of it."""
        with self._lock:
            entry = self._entries.get(name)
        if entry is None or not entry.reader.run.path.is_dir():
            return None
        return entry.reader.run

    @property
    def is_any_live(self) -> bool:
        with self._lock:
            return any(entry.row["is_live"] for entry in self._entries.values())

    def _look(self) -> None:
        self.number += 1
        there = dict(_folders(self.folder))
        for name in [name for name in self._entries if name not in there]:
            self._drop(name)
        for name, changed_ns in there.items():
            entry = self._entries.get(name)
            if entry is None:
                self._add(name, changed_ns)
            elif not entry.reader.is_over or entry.changed_ns != changed_ns:
                self._read(entry, changed_ns)
                if entry.row["state"] == "unknown" and not is_run(entry.reader.run):  # it was about to begin, and did not
                    self._drop(name)
                    self._others[name] = changed_ns
        self._put_together()

    def _put_together(self) -> None:
        """Workers of one training: what one does says something of the others, also of those that have not changed."""
        entries = {name: entry for name, entry in self._entries.items() if entry.reader.row["distributed"] is not None}
        plain = group_rows([(entry.reader.row, entry.reader.snapshot) for entry in entries.values()], time.time())
        for name, entry in entries.items():
            row = entry.reader.row
            if name in plain:
                row = {**row, "distributed": plain[name], **({"tone": "alarm"} if plain[name]["blocks"] else {})}
            if row != entry.row:
                entry.row, entry.number = row, self.number

    def _add(self, name: str, changed_ns: int) -> None:
        if self._others.get(name) == changed_ns:
            return
        run = RunFolder(self.folder / name)
        if not is_run(run) and not is_about_to_begin(run):
            self._others[name] = changed_ns
            return
        self._others.pop(name, None)
        self._gone.pop(name, None)
        reader = Reader(run)
        self._entries[name] = Entry(reader, changed_ns, reader.read(), self.number)

    def _drop(self, name: str) -> None:
        del self._entries[name]
        self._gone[name] = self.number

    def _read(self, entry: Entry, changed_ns: int) -> None:
        row = entry.reader.read()
        entry.changed_ns = changed_ns
        if row["distributed"] is None and row != entry.row:
            entry.row, entry.number = row, self.number


def is_run(run: RunFolder) -> bool:
    """Or may be one, as nobody can look into it: it is shown as such, rather than left out without a word."""
    if explain_unreadable(run.path) is not None:
        return True
    return any(run.path.glob(JOURNAL_FILES)) or run.settings_path.is_file()


def is_about_to_begin(run: RunFolder) -> bool:
    """A folder that was made a moment ago and holds nothing yet: a page may be opened before its program is started."""
    try:
        return time.time() - run.path.stat().st_mtime < FRESH_S and not any(run.path.iterdir())
    except OSError:
        return False


def rank_urgency(row: Row) -> tuple[int, Any]:
    """What stands still first; then what goes on, and last what is over, each the newest first."""
    rank = 0 if row["tone"] == "alarm" else 1 if row["is_live"] and row["tone"] != "good" else 2 if row["is_live"] else 3
    return rank, -(row["began_at"] or row["changed_at"])


def sort_entries(rows: list[Row]) -> list[Row]:
    """The most urgent first. Workers of a training stand together, where the most urgent of them would, who holds them first."""
    groups: dict[str, tuple[int, Any]] = {}
    for row in rows:
        group = _group(row)
        groups[group] = min(groups.get(group, rank_urgency(row)), rank_urgency(row))

    def place(row: Row) -> tuple[Any, ...]:
        workers = row["distributed"] or {}
        return (*groups[_group(row)], _group(row), not workers.get("blocks"), workers.get("rank") or 0)

    return sorted(rows, key=place)


def _group(row: Row) -> str:
    workers = row["distributed"] or {}
    return str(workers.get("group") or row["run"])


def _folders(folder: Path) -> Iterator[tuple[str, int]]:
    """Folders in it, with when each was changed. A link might lead elsewhere: it is left out."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in sorted(found, key=lambda entry: entry.name, reverse=True)[:MAX_RUNS]:
        try:
            yield entry.name, entry.stat(follow_symlinks=False).st_mtime_ns
        except OSError:
            continue  # it has gone meanwhile


# Runs that are workers of one training, in the list: which belong together, and which of them holds the others.


OVERLAP_SLACK_S = 600.0  # as for those that are read together


def group_rows(seen: Iterable[tuple[Row, WorkerSnapshot]], now: float) -> dict[str, dict[str, Any]]:
    """For each run of a group of at least two, its place in it: by the name of the run."""
    plain: dict[str, dict[str, Any]] = {}
    for group in _groups(seen):
        blockage = find_blockage([snapshot for _, snapshot in group], now)
        first = min(row["run"] for row, _ in group)
        for row, snapshot in group:
            plain[row["run"]] = {**row["distributed"], "group": first, **_part(snapshot, blockage)}
    return plain


def _groups(seen: Iterable[tuple[Row, WorkerSnapshot]]) -> list[list[tuple[Row, WorkerSnapshot]]]:
    clusters: dict[tuple[str, int | None], list[tuple[Row, WorkerSnapshot]]] = {}
    for row, snapshot in seen:
        clusters.setdefault((snapshot.cluster, snapshot.of), []).append((row, snapshot))
    groups = []
    for rows in clusters.values():
        groups += _by_time(sorted(rows, key=lambda each: -(each[0]["began_at"] or each[0]["changed_at"])))
    return [group for group in groups if len(group) > 1]


def _by_time(rows: list[tuple[Row, WorkerSnapshot]]) -> list[list[tuple[Row, WorkerSnapshot]]]:
    """Of trainings one after the other at one address, each by itself: a number stands in a group once."""
    groups: list[list[tuple[Row, WorkerSnapshot]]] = []
    for row, snapshot in rows:
        for group in groups:
            is_free = all(other.worker != snapshot.worker for _, other in group)
            earliest = min(each["began_at"] or each["changed_at"] for each, _ in group)
            if is_free and row["changed_at"] + OVERLAP_SLACK_S > earliest:
                group.append((row, snapshot))
                break
        else:
            groups.append([(row, snapshot)])
    return groups


def _part(snapshot: WorkerSnapshot, blockage: Blockage | None) -> dict[str, Any]:
    if blockage is None:
        return {"blocks": None, "blocked_by": None}
    own = next((holder for holder in blockage.holders if holder.snapshot is snapshot), None)
    if own is not None:
        return {"blocks": {"description": own.words, "count": blockage.held}, "blocked_by": None}
    return {"blocks": None, "blocked_by": blockage.holders[0].snapshot.name}
