"""`unstall attach`: no restart, no cooperation; it says what it sees, and which permission is missing if it cannot."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL, write
from unstall.report.story.outcome import EXIT_CODES

STUCK = """
import threading
left, right = threading.Lock(), threading.Lock()
barrier = threading.Barrier(2)

def load():
    with right:
        barrier.wait()
        with left:
            print("never")

def train():
    with left:
        barrier.wait()
        with right:
            print("never")

threading.Thread(target=load, name="loader").start()
print("ready", flush=True)
train()
"""
BUSY = """
print("ready", flush=True)
total = 0
while True:
    total += 1
"""
ASLEEP = """
import time
print("ready", flush=True)
time.sleep(600)
"""


STANDING_S = 3  # how long a program has stood when it is looked at


@contextmanager
def running(command: list[str]) -> Iterator[int]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
    finally:
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), 9)
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, int]]:
    """Programs that take no time, started once for all tests: their process numbers."""
    folder = tmp_path_factory.mktemp("standing")
    stuck, asleep = write(folder, STUCK), write(folder, ASLEEP, "asleep.py")
    with (
        running([sys.executable, str(stuck)]) as deadlocked,
        running([sys.executable, str(asleep)]) as sleeper,
        running(["bash", "-c", f"{sys.executable} {stuck}; true"]) as shell,
    ):
        time.sleep(STANDING_S)
        yield {"deadlocked": deadlocked, "asleep": sleeper, "shell": shell}


def attach(pid: int, **how: Any) -> dict[str, Any]:
    done = subprocess.run([*UNSTALL, "attach", str(pid), "--json", "-"], capture_output=True, text=True, check=False, **how)
    assert not done.stderr
    story: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == EXIT_CODES[story["outcome"]]
    return story


def test_a_deadlock_is_named_with_the_users_lines(standing: dict[str, int]) -> None:
    story = attach(standing["deadlocked"])
    assert story["state"] == "stuck"
    assert story["verdicts"][0]["cause"] == "lock_deadlock"
    assert story["verdicts"][0]["where"].endswith(("program.py:9", "program.py:15"))


def test_a_busy_program_is_not_called_stuck(tmp_path: Path) -> None:
    with running([sys.executable, str(write(tmp_path, BUSY))]) as pid:
        time.sleep(STANDING_S)
        story = attach(pid)
    assert story["state"] == "running"
    assert story["verdicts"] == []


def test_a_program_that_sleeps_on_purpose_has_nothing_wrong(tmp_path: Path) -> None:
    """It has begun only now: one that has slept for a minute, as on a busy machine, is called idle."""
    with running([sys.executable, str(write(tmp_path, ASLEEP))]) as pid:
        story = attach(pid)
    assert story["verdicts"] == []
    assert story["state"] == "running"


def test_a_program_that_is_stopped_is_said_to_be_that(tmp_path: Path) -> None:
    with running([sys.executable, str(write(tmp_path, BUSY))]) as pid:
        os.kill(pid, signal.SIGSTOP)
        done = subprocess.run([*UNSTALL, "attach", str(pid)], capture_output=True, text=True, check=False, timeout=240)
        os.kill(pid, signal.SIGCONT)
    assert done.returncode == EXIT_CODES["unknown"]
    assert "its process is stopped" in " ".join(done.stdout.split())
    assert "system call -1" not in done.stdout


def test_the_python_behind_a_shell_is_found(standing: dict[str, int]) -> None:
    story = attach(standing["shell"])
    assert story["verdicts"][0]["cause"] == "lock_deadlock"


PR_CAPBSET_DROP, CAP_SYS_PTRACE = 24, 19


def without_ptrace() -> None:
    """Root without this capability may not look into a process that has it, as in a container."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a capability up")
def test_without_the_permission_it_says_which_is_missing_and_what_it_sees_all_the_same(standing: dict[str, int]) -> None:
    story = attach(standing["asleep"], preexec_fn=without_ptrace)
    missing = [row for row in story["unknown"] if "ptrace" in row["missing"]]
    assert missing, story["unknown"]
    assert "SYS_PTRACE" in missing[0]["fix"]
    assert story["progress"]["cpu_cores"] is not None
    assert story["verdicts"] == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_another_users_process_is_refused_with_the_owner_and_the_cure(standing: dict[str, int]) -> None:
    """The other user asks in a process that has loaded all that `attach` needs as root: the folders may be closed to him."""
    as_nobody = """
import contextlib, os
import unstall.cli
with contextlib.suppress(SystemExit):
    unstall.cli.main()
os.setresuid(65534, 65534, 65534)
unstall.cli.main()
"""
    command = [sys.executable, "-c", as_nobody, "attach", str(standing["asleep"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr
    assert "belongs to user 0" in done.stderr
    assert "Traceback" not in done.stderr


def test_secrets_of_the_process_are_not_told_though_they_are_not_in_our_environment(tmp_path: Path) -> None:
    secret = "plain8Words4Secret"
    with running(["env", f"SERVICE_TOKEN={secret}", sys.executable, str(write(tmp_path, ASLEEP)), "--run-name", secret]) as pid:
        story = attach(pid)
    assert story["command"][-2] == "--run-name"
    assert secret not in json.dumps(story)
