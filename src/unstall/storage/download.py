"""Runs that lie in a bucket, copied to the disk to be looked at: what was added since the last look, and no weights.

A copy is marked as one. A run without the mark was begun or goes on on this machine: what lies on its disk is newer than what the
bucket has, and is left alone.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from unstall.base.console import Progress
from unstall.base.errors import AccessDeniedError, RunNotFoundError
from unstall.base.files import FILE_MODE, FileLock, make_private_folder
from unstall.journal.run_folder import RunFolder, get_bucket_home, is_held, name_folder
from unstall.storage.bucket import Entry, read_ahead
from unstall.storage.bucket_path import BucketPath
from unstall.storage.upload_checkpoints import FOLDER, complete, fetch_newest, list_on_disk
from unstall.storage.upload_journal import FOLDER as JOURNAL
from unstall.storage.upload_journal import add_new, fetch_journals, list_journals
from unstall.storage.uploader import EVERY_S as KEPT_EVERY_S
from unstall.storage.uploader import LARGE_BYTES, fetch_files, fetch_one, is_wanted
from unstall.storage.urls import resolve_path

MARK = ".copied-from-bucket"
LOOK_EVERY_S = KEPT_EVERY_S  # there is nothing new more often
LATE_S = 3 * KEPT_EVERY_S  # until what a run has written is seen here: kept, listed and read, with some patience
NOT_LOOKED_AT = ("tensorboard",)  # folders of a run that nothing of ours reads
AT_ONCE = 8
WAITS_S = 60.0  # for another process that brings the same run
_SETTINGS = "settings.json"


class Mirror:
    """Of a folder in a bucket that holds runs: a folder on the disk that holds copies of them."""

    def __init__(self, source: BucketPath) -> None:
        self.source, self.folder = source, name_folder(str(source))

    def look(self, progress: Progress | None = None) -> list[RunFolder]:
        """The runs that are there. One listing; then what is new, of several runs at once."""
        found = list(_by_run(self.source.bucket.list_all(self.source.key), self.source.key))
        runs: list[RunFolder] = []
        for run in read_ahead(lambda each: copy_run(self.source / each[0], each[1]), found, AT_ONCE):
            runs.append(run)
            if progress is not None:
                progress("reading the bucket", len(runs), len(found))
        if runs:
            self._remove_others({run.name for run in runs})
        return runs

    def _remove_others(self, names: set[str]) -> None:
        """Copies of runs that are gone from the bucket."""
        for path in self.folder.iterdir():
            if path.name not in names and is_copy(RunFolder(path)):
                shutil.rmtree(path, ignore_errors=True)


def find_mirror(place: str) -> Mirror:
    source = resolve_path(place.rstrip("/"))
    assert isinstance(source, BucketPath)
    return Mirror(source)


def download_runs(progress: Progress | None = None) -> None:
    """Where runs are kept in a bucket (UNSTALL_HOME), those of all machines; elsewhere nothing."""
    if get_bucket_home():
        find_mirror(get_bucket_home()).look(progress)


def _by_run(entries: Iterable[Entry], folder: str) -> Iterator[tuple[str, list[Entry]]]:
    """Names in the folder, each with its objects; those alone that are runs."""
    begin = f"{folder}/" if folder else ""

    def name(entry: Entry) -> str:
        return entry.key.removeprefix(begin).partition("/")[0]

    for run, group in groupby(sorted(entries, key=lambda entry: entry.key), name):
        own = list(group)
        if any(entry.key == f"{begin}{run}/{_SETTINGS}" for entry in own) or list_journals(own, f"{begin}{run}"):
            yield run, own


def copy_run(source: BucketPath, entries: list[Entry] | None = None) -> RunFolder:
    """The run on the disk, up to date if it is a copy. `entries`: all objects of the run, where they were listed already; then
    it is one of many, and is passed over while another process brings it."""
    run = RunFolder(name_folder(str(source)))
    try:
        if not run.path.exists():
            make_private_folder(run.path)
            (run.path / MARK).touch(mode=FILE_MODE)
        with lock_copy(run, WAITS_S if entries is None else 0.0) as is_alone:
            if is_alone:
                _bring(source, source.bucket.list_all(source.key) if entries is None else entries, run.path)
                if not run.bucket:
                    run.keep_in(str(source))
    except OSError as error:
        raise AccessDeniedError(f"Cannot bring {source} to '{run.path}': {error.strerror or error}.") from None
    return run


def is_copy(run: RunFolder) -> bool:
    """One that cannot be looked into is none that we have brought."""
    try:
        return (run.path / MARK).exists()
    except PermissionError:
        return False


def take_over(run: RunFolder) -> None:
    """From now on it goes on here, and is no copy."""
    (run.path / MARK).unlink(missing_ok=True)


def _bring(source: BucketPath, entries: list[Entry], run: Path) -> None:
    for entry in entries:
        name = entry.key.removeprefix(f"{source.key}/")
        if entry.size <= LARGE_BYTES and is_wanted(name) and name.partition("/")[0] not in NOT_LOOKED_AT:
            fetch_one(source.bucket, entry, run / name)
    for journal in list_journals(entries, source.key):
        add_new(source.bucket, journal, run)


@contextmanager
def lock_copy(run: RunFolder, waits_s: float = WAITS_S) -> Iterator[bool]:
    """Two processes that bring the same run would add the same lines. False: it is no copy, or not any more; or another process
    brings it, and does so for longer."""
    try:
        lock = FileLock(run.path / MARK)
    except FileNotFoundError:
        yield False
        return
    with lock:
        yield lock.acquire(waits_s) and is_copy(run)


# A run that lies in a bucket, brought to the disk: to be looked at, or to go on on another machine.


def fetch_run(place: str, with_checkpoint: bool = False) -> RunFolder:
    """To be looked at; with its checkpoint and its weights, to go on here. A run that is going on on this machine is left as it
    is, and of one that was trained here only what another machine has added is fetched."""
    source = resolve_path(place.rstrip("/"))
    assert isinstance(source, BucketPath)
    if not is_run(source):
        raise RunNotFoundError(f"There is no run at {source}: neither a journal nor settings of a training lie there.")
    run = RunFolder(name_folder(str(source)))
    if is_held(run.path):
        return run
    if not with_checkpoint and (is_copy(run) or not run.path.exists()):
        return copy_run(source)
    try:
        make_private_folder(run.path)
        with lock_copy(run) as was_copy:  # a board on this machine may bring it, too
            if was_copy or is_ahead(source, run.path):
                fetch_files(source, run.path, with_large=with_checkpoint)
            fetch_journals(source, run.path)
            if with_checkpoint:
                fetch_newest(source, run.path, _say)
                take_over(run)
        run.keep_in(str(source))
    except OSError as error:
        raise AccessDeniedError(f"Cannot bring {source} to '{run.path}': {error.strerror or error}.") from None
    return run


def run_names(place: str) -> list[str]:
    """Of a folder in a bucket, those that may be runs, in their order."""
    source = resolve_path(place)
    assert isinstance(source, BucketPath)
    return sorted(entry.key.rstrip("/").rpartition("/")[2] for entry in source.listed() or [] if entry.is_folder)


def is_run(source: BucketPath) -> bool:
    return (source / "settings.json").is_file() or bool((source / JOURNAL).listed())


def is_ahead(source: BucketPath, run: Path) -> bool:
    """Whether another machine has taken the run further than this one knows of."""
    if not (run / "settings.json").exists():
        return True
    there, here = complete(source / FOLDER), list_on_disk(run)
    return bool(there) and (not here or there[0] > max(here))


def _say(text: str) -> None:
    sys.stderr.write(f"unstall: {text}\n")
