"""The other files of a run in a bucket: settings, story, page, scores, weights, pictures; each put whole when it has changed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from unstall.storage.bucket import Entry, ahead
from unstall.storage.bucket_path import BucketPath
from unstall.storage.kept_checkpoints import FOLDER as CHECKPOINTS
from unstall.storage.kept_journal import FOLDER as JOURNAL
from unstall.storage.kept_journal import WORKERS

LARGE_BYTES = 4 * 2**20
LARGE_EVERY_S = 60.0  # weights of every epoch need not be there at once
NOT_KEPT = ("events-", "pulse-", "lock", "kept-in.txt", ".")
# What workers other than the first have is their journal; on another machine they have a folder of their own, and keep it.
FOLDERS_NOT_KEPT = frozenset({CHECKPOINTS, "checkpoints-set-aside", "compiled", JOURNAL, WORKERS})


class KeptFiles:
    def __init__(self, run: Path, target: BucketPath) -> None:
        self._run, self._target = run, target
        self._seen: dict[str, tuple[int, int]] = {}  # size and time when it was put there
        self._put_at: dict[str, float] = {}

    def keep(self, large: bool, at_last: bool = False) -> None:
        """Those that are large, or those that are not; `at_last`: without waiting."""
        for name, path in files_of(self._run):
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


def files_of(run: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(run.rglob("*")):
        name = path.relative_to(run)
        if name.parts[0] in FOLDERS_NOT_KEPT or path.name.startswith(NOT_KEPT) or name.parts[0].startswith("."):
            continue
        if path.is_file():
            yield name.as_posix(), path


def fetch_files(source: BucketPath, run: Path) -> None:
    def whole(entry: Entry) -> bytes:
        return b"".join(source.bucket.read_large(entry.key, entry.size))

    wanted = [entry for entry in source.bucket.everything(source.key) if _is_wanted(entry.key.removeprefix(f"{source.key}/"))]
    for entry, raw in zip(wanted, ahead(whole, wanted, 4), strict=True):
        path = run / entry.key.removeprefix(f"{source.key}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.part")
        aside.write_bytes(raw)
        aside.replace(path)


def _is_wanted(name: str) -> bool:
    parts = name.split("/")
    own = parts[2:] if parts[0] == WORKERS else parts
    return bool(own) and own[0] not in FOLDERS_NOT_KEPT and ".." not in parts
