"""One supervisor for a run, and one worker: two that write the same checkpoints would ruin both.

The lock is held by a file that is open in the supervisor and in its worker: it lasts until both have ended, however they did.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unstall.base.errors import InvalidInputError
from unstall.base.file_lock import FileLock
from unstall.journal.run_folder import RunFolder

FILE = "lock"


@contextmanager
def lock_run(run: RunFolder) -> Iterator[None]:
    with FileLock(run.path / FILE, create=True) as lock:
        try:
            is_acquired = lock.acquire()
        except OSError:
            is_acquired = False
        if not is_acquired:
            holder = os.pread(lock.descriptor, 64, 0).decode(errors="replace").strip()
            raise InvalidInputError(
                f"Run '{run.name}' is being trained already, by process {holder or 'unknown'} or its worker. Wait or end it."
            )
        os.ftruncate(lock.descriptor, 0)
        os.pwrite(lock.descriptor, str(os.getpid()).encode(), 0)
        os.set_inheritable(lock.descriptor, True)
        yield


def is_held(run: Path) -> bool:
    """Whether a supervisor or a worker on this machine holds the lock of the run in this folder."""
    try:
        lock = FileLock(run / FILE)
    except OSError:
        return False
    with lock:
        try:
            return not lock.acquire()
        except OSError:
            return True
