"""Unstall's own files: where they lie, who may read them, and locks on them.

Standard library only, syntax of Python 3.7: it also runs inside the watched program.

Files and folders that only their owner may read, whatever the umask: all that lies in a run folder. A run folder holds what a
program printed when it failed, its source and its data's paths. A folder that the user has made keeps the mode that it has, and a
file that the user has asked for by name (`--json PATH`) follows the umask.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Any

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_private_folder(path: Path) -> None:
    """With those above it, which follow the umask. One that is there keeps its mode."""
    path.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)


def open_private(path: str, flags: int) -> int:
    """For `open(path, "w", opener=private_opener)`."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)


def write_private(path: Path, content: str | bytes) -> None:
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    with open(path, "wb", opener=open_private) as file:
        file.write(data)


def write_whole(path: Path, text: str) -> None:
    """Aside, synced and renamed: whoever reads, even after a power cut, finds all of it or what was there before."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with open(aside, "w", encoding="utf-8", opener=open_private) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        if aside.exists():  # it was not renamed
            aside.unlink()


def make_new_files_private() -> None:
    """For a process that writes nothing but the files of a run: the umask of a process that belongs to Unstall alone."""
    os.umask(os.umask(0o077) | 0o077)


# The user's directories, as the XDG Base Directory Specification has them. RuntimeError where the user has no home.


NAME = "unstall"


def get_cache_dir() -> Path:
    """For what can be made or fetched again."""
    return _base("XDG_CACHE_HOME", ".cache") / NAME


def get_state_dir() -> Path:
    """For what is kept: the runs."""
    return _base("XDG_STATE_HOME", ".local/state") / NAME


def _base(variable: str, usual: str) -> Path:
    explicit = os.environ.get(variable)
    return Path(explicit) if explicit else Path.home() / usual


# An exclusive lock on a file: held while the file is open, and released when the process ends, however it ends.


POLL_S = 0.1


class FileLock:
    """`with FileLock(path) as lock:` opens the file, `lock.acquire()` takes the lock; both end with the block."""

    def __init__(self, path: Path, create: bool = False) -> None:
        """OSError where the file cannot be opened; FileNotFoundError where there is none, and none is to be created."""
        self.descriptor = os.open(str(path), os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0), 0o600)

    def acquire(self, timeout_s: float = 0.0) -> bool:
        """False where another process holds it, and does so for longer than `timeout_s`. OSError where files cannot be locked."""
        until = time.monotonic() + timeout_s
        while not self._is_acquired():
            if time.monotonic() >= until:
                return False
            time.sleep(POLL_S)
        return True

    def _is_acquired(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        os.close(self.descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
