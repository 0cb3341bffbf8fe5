"""The workers in run folders: one run is one worker, or one folder holds the journals of several that were started together."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from unstall.base.console import Progress
from unstall.base.errors import RunNotFoundError
from unstall.diagnosis.workers.members import Member
from unstall.journal import run_folder
from unstall.journal.events import Event, MembershipSeen
from unstall.journal.legacy_names import OLD_PROBE_FILES
from unstall.journal.provenance import read_sources, read_versions
from unstall.journal.reader import JOURNAL_FILES, PROBE_FILES, Journal, Tail, read_folder, select_newest_worker
from unstall.journal.run_folder import RunFolder
from unstall.storage import is_bucket, run_lookup

WATCHER_FILES = "events-watcher-*.jsonl"
# Of a training of ours, of all but the first worker; of a machine that has several and not the first, in that of its first.
WORKER_FOLDERS = ("workers/*", "workers/*/workers/*")


def find_runs(names: Sequence[str]) -> list[RunFolder]:
    """Each name is a run, as `runs.find` takes it, or a folder that holds several; on the disk or in a bucket."""
    found: dict[Path, RunFolder] = {}
    for name in names:
        inside = list_probe_runs(name)
        for run in inside or [run_lookup.find(name)]:
            found.setdefault(run.path, run)
    return list(found.values())


def list_probe_runs(name: str) -> list[RunFolder]:
    """Those in a folder that is no run itself; none where it is one. Where the first worker is on another machine, the run has no
    journal of its own here, but those of its guests."""
    if is_bucket(name):
        return _in_bucket(name)
    folder = Path(name)
    if not ("/" in name or name in {".", ".."}):
        return []
    run_folder.refuse_unreadable(folder)
    if not folder.is_dir() or any(folder.glob(JOURNAL_FILES)):
        return []
    inside = [RunFolder(path.resolve()) for path in _readable(folder) if any(path.glob(JOURNAL_FILES))]
    inside = inside or [RunFolder(path.resolve()) for path in list_worker_folders(RunFolder(folder), "workers/*")]
    if not inside:
        raise RunNotFoundError(f"'{name}' holds no run: neither it nor a folder in it has a journal (events-*.jsonl).")
    return inside


def _readable(folder: Path) -> list[Path]:
    """The folders in it. Of one that cannot be read it is said that it is left out."""
    found = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    closed = {path: why for path in found if (why := run_folder.explain_unreadable(path)) is not None}
    for path, why in closed.items():
        sys.stderr.write(f"unstall: '{path}' is left out, as it cannot be read: {why}.\n")
    return [path for path in found if path not in closed]


def _in_bucket(name: str) -> list[RunFolder]:
    from unstall.storage.download import find_mirror, is_run

    mirror = find_mirror(name)
    return [] if is_run(mirror.source) else mirror.look()


def read_members(found: Iterable[RunFolder], progress: Progress | None = None) -> list[Member]:
    folders = list(found)
    members: list[Member] = []
    for number, run in enumerate(folders, 1):
        members += list_members(run)
        if progress is not None:
            progress("reading the runs", number, len(folders))
    return members


def list_members(run: RunFolder) -> list[Member]:
    """One, or as many as have told from inside that they are different workers; those of `unstall train` lie in folders in it."""
    beside = [RunFolder(path) for path in list_worker_folders(run)]
    if beside:
        own = [_member(each, each.path.relative_to(run.path.parent).as_posix()) for each in beside]
        return [_member(run, run.name), *own]
    by_pid = _of_probes(run)
    workers = {event.worker for events in by_pid.values() if (event := _rank_seen(events)) is not None}
    if len(workers) < 2:
        return [_member(run, run.name)]
    return _of_one_watcher(run, by_pid)


def list_worker_folders(run: RunFolder, *patterns: str) -> list[Path]:
    """Those that tell something, beside the run's own."""
    found = [path for pattern in patterns or WORKER_FOLDERS for path in run.path.glob(pattern) if any(path.glob(JOURNAL_FILES))]
    return sorted(found, key=lambda path: (len(path.name), path.name))


def _member(run: RunFolder, name: str) -> Member:
    journal = read_folder(run.path)
    return Member(name, journal, journal.last(MembershipSeen), read_versions(journal), _hashes(run))


def _hashes(run: RunFolder) -> dict[str, str]:
    """Of its sources."""
    files = read_sources(run).get("files")
    rows = files.items() if isinstance(files, dict) else []
    return {name: str(file.get("sha256", "")) for name, file in rows if isinstance(file, dict)}


def _of_one_watcher(run: RunFolder, by_pid: dict[int, list[Event]]) -> list[Member]:
    """Started by one program that is watched, as torchrun does."""
    versions, sources = read_versions(read_folder(run.path)), _hashes(run)
    watched = [event for path in sorted(run.path.glob(WATCHER_FILES)) for event in Tail(path).read()]
    members = []
    for pid, events in by_pid.items():
        rank_event = _rank_seen(events)
        if rank_event is not None:
            own = select_newest_worker([*_of_process(watched, pid, set(by_pid)), *events])
            members.append(Member(f"{run.name}/{pid}", Journal(own), rank_event, versions, sources))
    return members


def list_probe_journals(run: RunFolder) -> list[Path]:
    """What the processes of the program have written, one file each."""
    return sorted(path for kind in (PROBE_FILES, OLD_PROBE_FILES) for path in run.path.glob(f"{kind}-*.jsonl"))


def _of_probes(run: RunFolder) -> dict[int, list[Event]]:
    found: dict[int, list[Event]] = {}
    for path in list_probe_journals(run):
        number = path.stem.rpartition("-")[2]
        if number.isdecimal():
            found[int(number)] = Tail(path).read()
    return found


def _rank_seen(events: Iterable[Event]) -> MembershipSeen | None:
    rows = [event for event in events if isinstance(event, MembershipSeen)]
    return rows[-1] if rows else None


def _of_process(watched: Iterable[Event], pid: int, pids: set[int]) -> list[Event]:
    """What the one watcher has seen of this worker: what it has seen of no process in particular, and nothing of the others.
    To itself each is the process that trains."""
    own: list[Event] = []
    for event in watched:
        whose = getattr(event, "pid", None)
        if whose == pid and getattr(event, "main", True) is False:
            own.append(dataclasses.replace(event, main=True))  # type: ignore[call-arg]
        elif whose == pid or whose not in pids:
            own.append(event)
    return own
