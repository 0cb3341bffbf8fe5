"""Follows the workers in a folder of runs, however many: what is new in each journal is read once, and little of it kept.

A look lists the folder, asks for the size of each journal and reads what was added. Lines of large kinds (stacks, threads) are
passed over unread. Whoever is named is then read whole by `diagnosis/workers/reader.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from unstall.base.errors import BucketError
from unstall.diagnosis.workers.activity import Activity, find_place
from unstall.diagnosis.workers.blocker import Blockage, Blocker, find_blockage
from unstall.diagnosis.workers.members import RunGroup
from unstall.diagnosis.workers.reader import list_members
from unstall.diagnosis.workers.snapshot import KINDS, WorkerSnapshot
from unstall.journal.events import Event
from unstall.journal.reader import Tail
from unstall.journal.run_folder import RunFolder

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
    snapshot: WorkerSnapshot
    path: str
    changed_ns: int = 0
    files: dict[str, _File] = field(default_factory=dict)


class WorkersFollower:
    def __init__(self, folder: Path, late_s: float = 0.0) -> None:
        """`late_s`: by which journals in the folder may be behind those that are written."""
        self.folder, self._late_s = folder, late_s
        self._workers: dict[str, _Worker] = {}
        self._others: dict[str, int] = {}
        self._looks = 0

    @property
    def snapshots(self) -> list[WorkerSnapshot]:
        return [worker.snapshot for worker in self._workers.values()]

    @property
    def has_ended(self) -> bool:
        """A folder beside them that holds no journal is no worker."""
        workers = [worker.snapshot for worker in self._workers.values() if worker.files]
        return bool(workers) and all(snapshot.ended for snapshot in workers)

    def excuse(self, seconds: float) -> None:
        """While nobody could look, nobody was silent."""
        for snapshot in self.snapshots:
            snapshot.heard_at += seconds

    def look(self, now: float | None = None) -> None:
        """Reads what was added since the last look."""
        now = time.monotonic() if now is None else now
        self._looks += 1
        for name, path in self._folders():
            worker = self._workers.get(name)
            if worker is None:
                worker = self._workers[name] = _Worker(WorkerSnapshot(name, heard_at=now, late_s=self._late_s), path)
            self._find_files(worker)
            added = [event for file in worker.files.values() for event in self._read(worker, file, now)]
            added.sort(key=lambda event: event.at)
            worker.snapshot.take(added, now)

    def run_groups(self) -> list[list[WorkerSnapshot]]:
        """By cluster, each with at least two; of runs at one address one after the other, the newest."""
        groups: dict[tuple[str, int | None], dict[object, WorkerSnapshot]] = {}
        for snapshot in self.snapshots:
            if snapshot.of is not None and snapshot.of > 1:
                of_cluster = groups.setdefault((snapshot.cluster, snapshot.of), {})
                before = of_cluster.get(snapshot.worker)
                if before is None or before.began_at < snapshot.began_at:
                    of_cluster[snapshot.worker] = snapshot
        return [list(group.values()) for group in groups.values() if len(group) > 1]

    def blockage(self, now: float | None = None) -> list[tuple[list[WorkerSnapshot], Blockage]]:
        """Each cluster in which one is waited for, with who it is."""
        now = time.monotonic() if now is None else now
        found = [(run_group, find_blockage(run_group, now)) for run_group in self.run_groups()]
        return [(run_group, blockage) for run_group, blockage in found if blockage is not None]

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
        worker.snapshot.heard_at = now  # also by what is passed over
        head: list[Event] = []
        if not file.size and size > HEAD_BYTES + TAIL_BYTES:
            head = file.tail.read(HEAD_BYTES)
            file.tail.skip_to_end(TAIL_BYTES)
        file.size = size
        return head + file.tail.read()


# Of very many workers those that are worth reading whole: who holds the others, and some of those that wait.


READ_WHOLE_UP_TO = 40
MAX_HOLDERS, MAX_WAITING = 8, 8
LOOKED_AT = frozenset({"elsewhere", "still"})  # kinds of holders that stacks can confirm


def read_suspects(run_group: Sequence[WorkerSnapshot], blockage: Blockage | None, folder: Path) -> RunGroup:
    """The crew with a few of its members read; of the rest it is known that they are there."""
    holders = [holder.snapshot for holder in blockage.holders[:MAX_HOLDERS]] if blockage else []
    rest = [snapshot for snapshot in run_group if all(snapshot is not each for each in holders)]
    stalled = sorted(rest, key=lambda snapshot: (snapshot.stall is None, snapshot.worker or 0))
    chosen = sorted([*holders, *stalled[:MAX_WAITING]], key=lambda snapshot: snapshot.worker or 0)
    members = [member for snapshot in chosen for member in list_members(RunFolder(folder / snapshot.run))]
    return RunGroup(tuple(members), frozenset(snapshot.worker for snapshot in run_group if snapshot.worker is not None))


def confirm_blockage(blockage: Blockage, folder: Path) -> Blockage | None:
    """What is left of it when the stacks of those that are said to stand elsewhere have been read; None: nothing."""
    kept = [holder for holder in blockage.holders[:MAX_HOLDERS] if holder.kind not in LOOKED_AT or _stands(holder, folder)]
    return replace(blockage, holders=tuple(kept)) if kept else None


def _stands(holder: Blocker, folder: Path) -> bool:
    seen = list_members(RunFolder(folder / holder.snapshot.run))
    doing = {find_place(member).doing for member in seen}
    return Activity.STANDS in doing or (Activity.UNSEEN in doing and holder.kind == "elsewhere")


def find_run_groups(folder: Path) -> tuple[list[RunGroup], list[str]]:
    """As they are now, and the names of the runs that belong to none. A crew that is not large is read whole. Silence is judged
    by when the files were written, as this is the first look at them."""
    follower = WorkersFollower(folder)
    follower.look()
    now = time.time()
    for snapshot in follower.snapshots:
        snapshot.heard_at = _written_at(folder / snapshot.run)
    groups = follower.run_groups()
    run_groups = [
        _whole(group, folder) if len(group) <= READ_WHOLE_UP_TO else read_suspects(group, find_blockage(group, now), folder)
        for group in groups
    ]
    together = {snapshot.run for group in groups for snapshot in group}
    return run_groups, sorted(
        snapshot.run for snapshot in follower.snapshots if snapshot.run not in together and snapshot.last_at
    )


def _whole(group: Sequence[WorkerSnapshot], folder: Path) -> RunGroup:
    ordered = sorted(group, key=lambda snapshot: snapshot.worker or 0)
    return RunGroup(tuple(member for snapshot in ordered for member in list_members(RunFolder(folder / snapshot.run))))


def _written_at(run: Path) -> float:
    return max((path.stat().st_mtime for path in run.glob("events-*.jsonl")), default=0.0)


# Follows a folder of runs until somebody is waited for, and on until all have ended: for `unstall diagnose FOLDER --follow`.


LOOK_EVERY_S = 1.0

OnBlockage = Callable[[RunGroup, Blockage], None]  # called when somebody new holds the others
OnLook = Callable[[WorkersFollower], None]  # called after each look


class BlockageFollower:
    def __init__(self, follower: WorkersFollower, on_blockage: OnBlockage, on_look: OnLook) -> None:
        self._follower, self._on_blockage, self._on_look = follower, on_blockage, on_look
        self._reported: set[frozenset[str]] = set()

    def has_ended(self) -> bool:
        """After a look, in which it is told who holds the others."""
        follower, folder = self._follower, self._follower.folder
        follower.look()
        self._on_look(follower)
        standing = follower.blockage()
        for run_group, blockage in standing:
            sure = None if format_names(blockage) in self._reported else confirm_blockage(blockage, folder)
            if sure is not None:
                self._reported.add(format_names(blockage))
                self._on_blockage(read_suspects(run_group, sure, folder), sure)
        self._reported &= {format_names(blockage) for _, blockage in standing}
        return follower.has_ended


def follow(folder: Path, on_blockage: OnBlockage, on_look: OnLook) -> None:
    """Until every worker has ended."""
    watching = BlockageFollower(WorkersFollower(folder), on_blockage, on_look)
    while True:
        began = time.monotonic()
        if watching.has_ended():
            return
        time.sleep(max(0.05, LOOK_EVERY_S - (time.monotonic() - began)))


def follow_bucket(place: str, on_blockage: OnBlockage, on_look: OnLook, say: Callable[[str], None]) -> None:
    """The same of runs in a bucket, where all is seen some seconds later. One that is away for a while is said, once."""
    from unstall.storage.download import LATE_S, find_mirror
    from unstall.storage.download import LOOK_EVERY_S as EVERY_S

    mirror = find_mirror(place)
    follower = WorkersFollower(mirror.folder, LATE_S)
    watching = BlockageFollower(follower, on_blockage, on_look)
    is_away, is_waiting, seen_at = False, False, time.monotonic()
    while True:
        began = time.monotonic()
        try:
            if not mirror.look() and not follower.snapshots and not is_waiting:
                say(f"no run lies in {place} yet: it is looked for again and again. Ctrl-C ends it.")
                is_waiting = True
        except BucketError as error:
            if not is_away:
                say(f"{error} It is tried again; until then nothing is said of the runs.")
            is_away = True
        else:
            if is_away:
                say(f"{place} is there again.")
            follower.excuse(max(0.0, time.monotonic() - seen_at - EVERY_S))
            is_away, seen_at = False, time.monotonic()
            if watching.has_ended():
                return
        time.sleep(max(0.05, EVERY_S - (time.monotonic() - began)))


def format_names(blockage: Blockage) -> frozenset[str]:
    return frozenset(holder.snapshot.run for holder in blockage.holders)
