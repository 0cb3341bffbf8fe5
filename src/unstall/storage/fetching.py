"""A run that lies in a bucket, brought to the disk: to be looked at, or to go on on another machine."""

from __future__ import annotations

import fcntl
import os
import sys
from pathlib import Path

from unstall.errors import NoSuchRun, NotPermitted
from unstall.private_files import make_private_folder
from unstall.runs import RunFolder, folder_for
from unstall.storage.bucket_path import BucketPath
from unstall.storage.kept_checkpoints import FOLDER, complete, fetch_newest, on_disk
from unstall.storage.kept_files import fetch_files
from unstall.storage.kept_journal import FOLDER as JOURNAL
from unstall.storage.kept_journal import fetch_journals
from unstall.storage.mirroring import alone_with_copy, copied, is_copy, take_over
from unstall.storage.places import located

LOCK = "lock"


def fetched_run(place: str, with_checkpoint: bool = False) -> RunFolder:
    """To be looked at; with its checkpoint and its weights, to go on here. A run that is going on on this machine is left as it
    is, and of one that was trained here only what another machine has added is fetched."""
    source = located(place.rstrip("/"))
    assert isinstance(source, BucketPath)
    if not is_run(source):
        raise NoSuchRun(f"There is no run at {source}: neither a journal nor settings of a training lie there.")
    run = RunFolder(folder_for(str(source)))
    if is_going_on(run.path):
        return run
    if not with_checkpoint and (is_copy(run) or not run.path.exists()):
        return copied(source)
    try:
        make_private_folder(run.path)
        with alone_with_copy(run) as was_copy:  # a board on this machine may bring it, too
            if was_copy or is_ahead(source, run.path):
                fetch_files(source, run.path, with_large=with_checkpoint)
            fetch_journals(source, run.path)
            if with_checkpoint:
                fetch_newest(source, run.path, _say)
                take_over(run)
        run.keep_in(str(source))
    except OSError as error:
        raise NotPermitted(f"Cannot bring {source} to '{run.path}': {error.strerror or error}.") from None
    return run


def run_names(place: str) -> list[str]:
    """Of a folder in a bucket, those that may be runs, in their order."""
    source = located(place)
    assert isinstance(source, BucketPath)
    return sorted(entry.key.rstrip("/").rpartition("/")[2] for entry in source.listed() or [] if entry.is_folder)


def is_run(source: BucketPath) -> bool:
    return (source / "settings.json").is_file() or bool((source / JOURNAL).listed())


def is_ahead(source: BucketPath, run: Path) -> bool:
    """Whether another machine has taken the run further than this one knows of."""
    if not (run / "settings.json").exists():
        return True
    there, here = complete(source / FOLDER), on_disk(run)
    return bool(there) and (not here or there[0] > max(here))


def is_going_on(run: Path) -> bool:
    """Whether a supervisor or worker on this machine holds its lock."""
    try:
        descriptor = os.open(run / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _say(text: str) -> None:
    sys.stderr.write(f"unstall: {text}\n")
