"""The process in which checks are asked ends with whoever asked, however that went."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

CLIENT = """
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-m", "unstall.planning.preflight", "1"], stdin=int(sys.argv[1])).pid, flush=True)
time.sleep(600)
"""


def hears_of_its_parent(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGCONT - 1) & 1)


def test_it_ends_when_its_parent_is_killed() -> None:
    reading, writing = os.pipe()  # kept open here: it is not for want of a question that it ends
    client_process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(reading)], stdout=subprocess.PIPE, text=True, pass_fds=[reading]
    )
    os.close(reading)
    assert client_process.stdout is not None
    asked = psutil.Process(int(client_process.stdout.readline()))
    try:
        ends_at = time.monotonic() + 240
        while not hears_of_its_parent(asked.pid) and time.monotonic() < ends_at:
            time.sleep(0.05)
        client_process.kill()
        client_process.wait()
        with contextlib.suppress(psutil.NoSuchProcess):
            asked.wait(240)
        assert not asked.is_running() or asked.status() == psutil.STATUS_ZOMBIE
    finally:
        os.close(writing)
        with contextlib.suppress(psutil.NoSuchProcess):
            asked.kill()
