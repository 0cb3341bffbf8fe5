"""An exclusive lock on a file: held while the file is open, and released when the process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import Any

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
