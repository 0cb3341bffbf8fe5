"""A program that Unstall ends is ended whole: none of its processes stays behind."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.programs import write

STOPPER = """
import sys
from pathlib import Path
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.launch import LaunchedProgram

launched = LaunchedProgram([sys.executable, sys.argv[1]], RunFolder(Path(sys.argv[2])))
while not Path(sys.argv[2], "child").exists():
    launched.wait(0.1)
launched.stop()
ended = launched.wait(240)
assert ended is not None and ended.stopped_by_us, ended
"""
PROGRAM = """
import os, subprocess, sys, time
from pathlib import Path
child = subprocess.Popen([sys.executable, "-c", {child!r}], start_new_session=True)  # a signal to the group does not reach it
time.sleep(1)
Path({folder!r}, "part").write_text(str(child.pid))
Path({folder!r}, "part").rename(Path({folder!r}, "child"))
time.sleep(600)
"""


@pytest.mark.parametrize(
    "child",
    ["import time; time.sleep(600)", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"],
)
def test_child_processes_end_with_a_program_that_is_stopped(child: str, tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM.format(child=child, folder=str(tmp_path)))
    stopper = write(tmp_path, STOPPER, "stopper.py")
    subprocess.run([sys.executable, str(stopper), str(program), str(tmp_path)], check=True, timeout=240)
    pid = int((tmp_path / "child").read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
