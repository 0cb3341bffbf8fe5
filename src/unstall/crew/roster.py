"""Follows the workers in a folder of runs, however many: what is new in each journal is read once, and little of it kept.

A look lists the folder, asks for the size of each journal and reads what was added. Lines of large kinds (stacks, threads) are
passed over unread. Whoever is named is then read whole by `crew/reading.py`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from unstall.crew.holding import Holding, who_holds
from unstall.crew.sighting import KINDS, Sighting
from unstall.journal.events import Event
from unstall.journal.reader import Tail

HEAD_BYTES = 2**16  # what a run is stands in its first lines
TAIL_BYTES = 2**17  # of a journal that was long before it is looked at
NEW_FILES_EVERY = 5  # looks, in which a folder is asked for new journals, once it has that of a program and of its watcher
BOTH = 2


@dataclass(slots=True)
class _File:
    tail: Tail
    path: str
    size: int = 0


@dataclass(slots=True)
class _Worker:
    sighting: Sighting
    path: str
    changed_ns: int = 0
    files: dict[str, _File] = field(default_factory=dict)


class Roster:
    def __init__(self, folder: Path, late_s: float = 0.0) -> None:
        """`late_s`: by which journals in the folder may be behind those that are written."""
        self.folder, self._late_s = folder, late_s
        self._workers: dict[str, _Worker] = {}
        self._others: dict[str, int] = {}
        self._looks = 0

    @property
    def sightings(self) -> list[Sighting]:
        return [worker.sighting for worker in self._workers.values()]

    @property
    def have_all_ended(self) -> bool:
        """A folder beside them that holds no journal is no worker."""
        workers = [worker.sighting for worker in self._workers.values() if worker.files]
        return bool(workers) and all(sighting.ended for sighting in workers)

    def excuse(self, seconds: float) -> None:
        """While nobody could look, nobody was silent."""
        for sighting in self.sightings:
            sighting.heard_at += seconds

    def look(self, now: float | None = None) -> None:
        """Reads what was added since the last look."""
        now = time.monotonic() if now is None else now
        self._looks += 1
        for name, path in self._folders():
            worker = self._workers.get(name)
            if worker is None:
                worker = self._workers[name] = _Worker(Sighting(name, heard_at=now, late_s=self._late_s), path)
            self._find_files(worker)
            added = [event for file in worker.files.values() for event in self._read(worker, file, now)]
            added.sort(key=lambda event: event.at)
            worker.sighting.take(added, now)

    def crews(self) -> list[list[Sighting]]:
        """By cluster, each with at least two; of runs at one address one after the other, the newest."""
        groups: dict[tuple[str, int | None], dict[object, Sighting]] = {}
        for sighting in self.sightings:
            if sighting.of is not None and sighting.of > 1:
                of_cluster = groups.setdefault((sighting.cluster, sighting.of), {})
                before = of_cluster.get(sighting.worker)
                if before is None or before.began_at < sighting.began_at:
                    of_cluster[sighting.worker] = sighting
        return [list(group.values()) for group in groups.values() if len(group) > 1]

    def holding(self, now: float | None = None) -> list[tuple[list[Sighting], Holding]]:
        """Each cluster in which one is waited for, with who it is."""
        now = time.monotonic() if now is None else now
        found = [(crew, who_holds(crew, now)) for crew in self.crews()]
        return [(crew, holding) for crew, holding in found if holding is not None]

    def _folders(self) -> list[tuple[str, str]]:
        try:
            with os.scandir(self.folder) as entries:
                return [(entry.name, entry.path) for entry in entries if not entry.name.startswith(".") and entry.is_dir()]
        except OSError:
            return []

    def _find_files(self, worker: _Worker) -> None:
        if len(worker.files) >= BOTH and self._looks % NEW_FILES_EVERY:
            return
        try:
            changed_ns = os.stat(worker.path).st_mtime_ns  # noqa: PTH116 - of 10,000 folders: a Path costs more than the call
            if changed_ns == worker.changed_ns and self._looks % (4 * NEW_FILES_EVERY):  # not all file systems tell
                return
            worker.changed_ns = changed_ns
            with os.scandir(worker.path) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            return
        for name in names:
            if name not in worker.files and name.startswith("events-") and name.endswith(".jsonl"):
                path = f"{worker.path}/{name}"
                worker.files[name] = _File(Tail(Path(path), KINDS), path)

    def _read(self, worker: _Worker, file: _File, now: float) -> list[Event]:
        try:
            size = os.stat(file.path).st_size  # noqa: PTH116 - the same
        except OSError:
            return []
        if size == file.size:
            return []
        worker.sighting.heard_at = now  # also by what is passed over
        head: list[Event] = []
        if not file.size and size > HEAD_BYTES + TAIL_BYTES:
            head = file.tail.read(HEAD_BYTES)
            file.tail.skip_to_end(TAIL_BYTES)
        file.size = size
        return head + file.tail.read()
