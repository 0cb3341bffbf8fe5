"""One process holds the lock; whoever ends, however, has released it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from unstall.base.files import FileLock

HOLDS = """
import sys, time
from pathlib import Path
from unstall.base.files import FileLock
with FileLock(Path(sys.argv[1]), create=True) as lock:
    print(lock.acquire(), flush=True)
    time.sleep(60)
"""


def test_a_second_one_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", create=True) as first, FileLock(tmp_path / "lock") as second:
        assert first.acquire() and first.acquire()
        assert not second.acquire()
        first_again = FileLock(tmp_path / "lock")
        assert not first_again.acquire()
        first_again.close()
    with FileLock(tmp_path / "lock") as third:
        assert third.acquire()
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_a_process_that_is_killed_has_released_it(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path / "lock")], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "True\n"
        with FileLock(tmp_path / "lock") as lock:
            assert not lock.acquire()
            os.kill(holder.pid, signal.SIGKILL)
            assert lock.acquire(timeout_s=30)


def test_one_may_wait_for_it(tmp_path: Path) -> None:
    first = FileLock(tmp_path / "lock", create=True)
    assert first.acquire()
    threading.Timer(0.3, first.close).start()
    began = time.monotonic()
    with FileLock(tmp_path / "lock") as second:
        assert second.acquire(timeout_s=30)
    assert time.monotonic() - began >= 0.2


def test_without_create_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "lock")
    assert not list(tmp_path.iterdir())
