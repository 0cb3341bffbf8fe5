"""One supervisor for a run, and one worker: two that write the same checkpoints would ruin both.

The lock is held by a file that is open in the supervisor and in its worker: it lasts until both have ended, however they did.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from unstall.base.errors import InvalidInputError
from unstall.journal.run_folder import RunFolder

FILE = "lock"


@contextmanager
def alone_with(run: RunFolder) -> Iterator[None]:
    descriptor = os.open(run.path / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(descriptor, 64, 0).decode(errors="replace").strip()
            raise InvalidInputError(
                f"Run '{run.name}' is being trained already, by process {holder or 'unknown'} or its worker. Wait or end it."
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        os.set_inheritable(descriptor, True)
        yield
    finally:
        os.close(descriptor)
