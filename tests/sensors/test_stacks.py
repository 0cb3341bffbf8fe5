"""Stacks of processes that are there, and of one that has just ended."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from unstall.journal.events import SampleFailed
from unstall.sensors.stacks import GONE, sample


def test_a_process_that_nobody_has_taken_note_of_yet_is_gone() -> None:
    program = subprocess.Popen([sys.executable, "-c", ""])
    while Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
    failed = sample(program.pid)
    program.wait()
    assert isinstance(failed, SampleFailed)
    assert failed.missing.endswith(GONE)
