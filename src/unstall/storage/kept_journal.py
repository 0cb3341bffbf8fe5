"""Journals in a bucket: whole lines, in segments. The last segment is written again while it grows, each time as a whole object.

    journal/events-inside-4711.jsonl/000000000000000       its first bytes, up to an end of a line
    journal/events-inside-4711.jsonl/000000001048911       where the segment before it ends

Joined in the order of their names they are the journal, up to what was written some seconds ago.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unstall.storage.bucket_path import BucketPath

FOLDER = "journal"
WORKERS = "workers"  # each but the first has a folder in it, with journals of its own
PATTERN = "events-*.jsonl"
SEGMENT_BYTES = 2**20  # a segment of this size is finished, and another begun
MOST_READ_BYTES = 8 * 2**20  # at once, of a journal that grows quickly


@dataclass
class _Journal:
    begin: int = 0  # of the segment that grows
    end: int = 0  # what the bucket has


class KeptJournals:
    def __init__(self, run: Path, target: BucketPath) -> None:
        self._run, self._target = run, target / FOLDER
        self._journals: dict[str, _Journal] = {}
        self._whole = target
        self._workers: dict[str, KeptJournals] = {}

    def keep(self) -> None:
        """What is new in all of them."""
        for path in sorted(self._run.glob(PATTERN)):
            if path.name not in self._journals:
                self._journals[path.name] = self._begun(path.name)
            while self._grown(path, self._journals[path.name]):
                pass
        for folder in sorted((self._run / WORKERS).glob("*")):
            if folder.name not in self._workers:
                self._workers[folder.name] = KeptJournals(folder, self._whole / WORKERS / folder.name)
            self._workers[folder.name].keep()

    def _begun(self, name: str) -> _Journal:
        """Of a run that goes on: after the last segment that the bucket has."""
        found = segments(self._target / name)
        return _Journal(found[-1][0], sum(found[-1])) if found else _Journal()

    def _grown(self, path: Path, journal: _Journal) -> bool:
        """Whether there may be more."""
        with path.open("rb") as file:
            file.seek(journal.begin)
            raw = file.read(MOST_READ_BYTES)
        whole = raw[: raw.rfind(b"\n") + 1]
        if journal.begin + len(whole) <= journal.end:
            return False
        (self._target / path.name / f"{journal.begin:015d}").write_bytes(whole)
        journal.end = journal.begin + len(whole)
        if len(whole) >= SEGMENT_BYTES:
            journal.begin = journal.end
        return len(raw) == MOST_READ_BYTES


def segments(folder: BucketPath) -> list[tuple[int, int]]:
    """Where each begins and its length, in order, as far as none is missing."""
    listed = folder.listed() or []
    named = sorted((int(name), each.size) for each in listed if (name := each.key.rpartition("/")[2]).isdigit())
    whole: list[tuple[int, int]] = []
    for begin, size in named:
        if begin == (sum(whole[-1]) if whole else 0):
            whole.append((begin, size))
    return whole


def fetch_journals(source: BucketPath, run: Path) -> None:
    """Each as far as the bucket has it; one of which the disk has more stays as it is. Those of all workers."""
    for entry in (source / WORKERS).listed() or []:
        worker = entry.key.rstrip("/").rpartition("/")[2]
        (run / WORKERS / worker).mkdir(parents=True, exist_ok=True)
        fetch_journals(source / WORKERS / worker, run / WORKERS / worker)
    for entry in (source / FOLDER).listed() or []:
        folder = source.at(entry.key)
        path = run / folder.name
        found = segments(folder)
        if path.exists() and path.stat().st_size >= sum(size for _, size in found):
            continue
        aside = path.with_name(f".{path.name}.part")
        with aside.open("wb") as file:
            for begin, size in found:
                file.write((folder / f"{begin:015d}").read_bytes()[:size])
        aside.replace(path)
