"""Journals in a bucket: whole lines, in segments. The last segment is written again while it grows, each time as a whole object.

    journal/events-probe-4711.jsonl/000000000000000       its first bytes, up to an end of a line
    journal/events-probe-4711.jsonl/000000001048911       where the segment before it ends

Joined in the order of their names they are the journal, up to what was written some seconds ago.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from unstall.base.files import make_private_folder, open_private
from unstall.storage.bucket import Bucket, Entry
from unstall.storage.bucket_path import BucketPath

FOLDER = "journal"
WORKERS = "workers"  # each but the first has a folder in it, with journals of its own
PATTERN = "events-*.jsonl"
SEGMENT_BYTES = 2**20  # a segment of this size is finished, and another begun
MAX_READ_BYTES = 8 * 2**20  # at once, of a journal that grows quickly
COMPARED_BYTES = 4096  # of what the disk has, before more is added to it: it may have been written otherwise
_SEGMENT = re.compile(rf"(?P<worker>{WORKERS}/\d+/)?{FOLDER}/(?P<name>events-[\w.-]+\.jsonl)/(?P<begin>\d{{1,18}})")


@dataclass
class _Journal:
    begin: int = 0  # of the segment that grows
    end: int = 0  # what the bucket has


class JournalUploader:
    def __init__(self, run: Path, target: BucketPath) -> None:
        self._run, self._target = run, target / FOLDER
        self._journals: dict[str, _Journal] = {}
        self._whole = target
        self._workers: dict[str, JournalUploader] = {}

    def keep(self) -> None:
        """What is new in all of them."""
        for path in sorted(self._run.glob(PATTERN)):
            if path.name not in self._journals:
                self._journals[path.name] = self._journal_in_bucket(path.name)
            while self._grown(path, self._journals[path.name]):
                pass
        for folder in sorted((self._run / WORKERS).glob("*")):
            if folder.name not in self._workers:
                self._workers[folder.name] = JournalUploader(folder, self._whole / WORKERS / folder.name)
            self._workers[folder.name].keep()

    def _journal_in_bucket(self, name: str) -> _Journal:
        """Of a run that goes on: after the last segment that the bucket has."""
        found = list_segments(self._target / name)
        return _Journal(found[-1][0], sum(found[-1])) if found else _Journal()

    def _grown(self, path: Path, journal: _Journal) -> bool:
        """Whether there may be more."""
        with path.open("rb") as file:
            file.seek(journal.begin)
            raw = file.read(MAX_READ_BYTES)
        whole = raw[: raw.rfind(b"\n") + 1]
        if journal.begin + len(whole) <= journal.end:
            return False
        (self._target / path.name / f"{journal.begin:015d}").write_bytes(whole)
        journal.end = journal.begin + len(whole)
        if len(whole) >= SEGMENT_BYTES:
            journal.begin = journal.end
        return len(raw) == MAX_READ_BYTES


def list_segments(folder: BucketPath) -> list[tuple[int, int]]:
    """Where each begins and its length, in order, as far as none is missing."""
    listed = folder.listed() or []
    return _whole([(int(name), each.size) for each in listed if (name := each.key.rpartition("/")[2]).isdigit()])


def _whole(named: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    whole: list[tuple[int, int]] = []
    for begin, size in sorted(named):
        if begin == (sum(whole[-1]) if whole else 0):
            whole.append((begin, size))
    return whole


# --- back to the disk ---


@dataclass
class UploadedJournal:
    """One that lies in a bucket."""

    name: str  # in the run folder: events-probe-7.jsonl, or workers/1/events-probe-8.jsonl
    folder: str  # its segments'
    listed: list[tuple[int, int]] = field(default_factory=list)
    changed_at: float = 0.0

    @property
    def segments(self) -> list[tuple[int, int]]:
        return _whole(self.listed)

    @property
    def size(self) -> int:
        return sum(size for _, size in self.segments)


def list_journals(entries: Iterable[Entry], run: str) -> list[UploadedJournal]:
    """Of all objects of a run, whose names begin with `run`; those of all workers."""
    found: dict[str, UploadedJournal] = {}
    for entry in entries:
        part = _SEGMENT.fullmatch(entry.key.removeprefix(f"{run}/"))
        if part is not None:
            name = f"{part['worker'] or ''}{part['name']}"
            journal = found.setdefault(name, UploadedJournal(name, entry.key.rpartition("/")[0]))
            journal.listed.append((int(part["begin"]), entry.size))
            journal.changed_at = max(journal.changed_at, entry.changed_at)
    return list(found.values())


def fetch_journals(source: BucketPath, run: Path) -> None:
    """Each as far as the bucket has it; one of which the disk has more stays as it is. Those of all workers."""
    for journal in list_journals(source.bucket.list_all(source.key), source.key):
        add_new(source.bucket, journal, run)


def add_new(bucket: Bucket, journal: UploadedJournal, run: Path) -> bool:
    """Whether the bucket had more than the disk. Only that is read, unless what the disk has is not the beginning of it."""
    path, segments = run / journal.name, journal.segments
    has = path.stat().st_size if path.exists() else 0
    if has >= journal.size:
        return False
    make_private_folder(path.parent)
    known = _end_of(path, has)
    added = _from(bucket, journal, segments, has - len(known))
    first = next(added)
    while len(first) < len(known):
        first += next(added)
    if first.startswith(known):
        with open(path, "ab", opener=open_private) as file:
            file.write(first[len(known) :])
            file.writelines(added)
    else:
        _write_whole(path, _from(bucket, journal, segments, 0))
    if journal.changed_at:
        os.utime(path, (journal.changed_at, journal.changed_at))  # who looks at it sees when it grew, not when it came here
    return True


def _end_of(path: Path, size: int) -> bytes:
    if not size:
        return b""
    with path.open("rb") as file:
        file.seek(max(0, size - COMPARED_BYTES))
        return file.read(COMPARED_BYTES)


def _from(bucket: Bucket, journal: UploadedJournal, segments: list[tuple[int, int]], start: int) -> Iterator[bytes]:
    """All bytes from there on, a segment at a time."""
    for begin, size in segments:
        if begin + size > start:
            yield bucket.read(f"{journal.folder}/{begin:015d}", max(0, start - begin), size)


def _write_whole(path: Path, pieces: Iterable[bytes]) -> None:
    aside = path.with_name(f".{path.name}.part")
    with open(aside, "wb", opener=open_private) as file:
        file.writelines(pieces)
    aside.replace(path)
