"""The other files of a run in a bucket: settings, story, page, scores, weights, pictures; each put whole when it has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from unstall.base.private_files import make_private_folder, open_private
from unstall.storage.bucket import Bucket, Entry, read_ahead
from unstall.storage.bucket_path import BucketPath
from unstall.storage.upload_checkpoints import FOLDER as CHECKPOINTS
from unstall.storage.upload_journal import FOLDER as JOURNAL
from unstall.storage.upload_journal import WORKERS

LARGE_BYTES = 4 * 2**20
SAME_TIME_S = 0.001
LARGE_EVERY_S = 60.0  # weights of every epoch need not be there at once
NOT_KEPT = ("events-", "pulse-", "lock", "bucket.txt", "kept-in.txt", ".")
# What workers other than the first have is their journal; on another machine they have a folder of their own, and keep it.
FOLDERS_NOT_KEPT = frozenset({CHECKPOINTS, "checkpoints-set-aside", "compiled", JOURNAL, WORKERS})


class FileUploader:
    def __init__(self, run: Path, target: BucketPath) -> None:
        self._run, self._target = run, target
        self._seen: dict[str, tuple[int, int]] = {}  # size and time when it was put there
        self._put_at: dict[str, float] = {}

    def keep(self, large: bool, at_last: bool = False) -> None:
        """Those that are large, or those that are not; `at_last`: without waiting."""
        for name, path in list_files(self._run):
            try:
                status = path.stat()
            except OSError:
                continue  # it was replaced or deleted a moment ago
            now = (status.st_size, status.st_mtime_ns)
            is_due = at_last or time.monotonic() - self._put_at.get(name, -LARGE_EVERY_S) >= LARGE_EVERY_S
            if (status.st_size > LARGE_BYTES) == large and self._seen.get(name) != now and (is_due or not large):
                try:
                    self._target.bucket.write_file((self._target / name).key, path)
                except FileNotFoundError:
                    continue
                self._seen[name], self._put_at[name] = now, time.monotonic()


def list_files(run: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(run.rglob("*")):
        name = path.relative_to(run)
        if name.parts[0] in FOLDERS_NOT_KEPT or path.name.startswith(NOT_KEPT) or name.parts[0].startswith("."):
            continue
        if path.is_file():
            yield name.as_posix(), path


def fetch_files(source: BucketPath, run: Path, with_large: bool) -> None:
    """Those that the disk has not, or has otherwise. Large ones are weights: nobody needs them to look at a run."""
    wanted = [
        entry
        for entry in source.bucket.list_all(source.key)
        if is_wanted(entry.key.removeprefix(f"{source.key}/")) and (with_large or entry.size <= LARGE_BYTES)
    ]
    for _ in read_ahead(lambda entry: fetch_one(source.bucket, entry, run / entry.key.removeprefix(f"{source.key}/")), wanted, 4):
        pass


def fetch_one(bucket: Bucket, entry: Entry, path: Path) -> None:
    """What it was fetched from is known by its size and its time, which is that of the object."""
    try:
        status = path.stat()
        if status.st_size == entry.size and abs(status.st_mtime - entry.changed_at) < SAME_TIME_S:
            return
    except OSError:
        pass  # it is not there yet
    make_private_folder(path.parent)
    aside = path.with_name(f".{path.name}.part")
    with open(aside, "wb", opener=open_private) as file:
        file.writelines(bucket.read_large(entry.key, entry.size))
    if entry.changed_at:
        os.utime(aside, (entry.changed_at, entry.changed_at))
    aside.replace(path)


def is_wanted(name: str) -> bool:
    """Of a file in the bucket: no journal and no checkpoint, and no name that would lead out of the run's folder."""
    parts = name.split("/")
    own = parts[2:] if parts[0] == WORKERS else parts
    is_inside = all(part not in {"", ".", ".."} for part in parts)
    return is_inside and bool(own) and own[0] not in FOLDERS_NOT_KEPT and not own[-1].startswith(NOT_KEPT)
