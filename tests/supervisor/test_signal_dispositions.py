"""The program begins with the signals ignored that it would begin with alone, and how it ended is known whatever we were begun with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.programs import UNSTALL, write

IGNORING = """
import os, signal, sys
numbers = [int(each) for each in sys.argv[1].split(",")]
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_IGN if number in numbers else signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""
WATCHED = [*UNSTALL, "run", "--quiet", "--"]
SHOW = ["/bin/grep", "^Sig[BI]", "/proc/self/status"]


def ignoring(folder: Path, *numbers: int) -> list[str]:
    """Begins a command with these signals ignored, and no others."""
    script = folder / "ignoring.py"
    script.write_text(IGNORING)
    return [sys.executable, str(script), ",".join(map(str, numbers or [0]))]


def seen(command: list[str]) -> tuple[int, str, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    return done.returncode, done.stdout, done.stderr


def shown(command: list[str]) -> dict[str, int]:
    """The masks of blocked and ignored signals, without those that the C library keeps for itself (32 and 33)."""
    code, out, err = seen(command)
    assert code == 0, err
    return {name: int(mask, 16) & 0x7FFFFFFF for name, mask in (line.split() for line in out.splitlines())}


@pytest.mark.parametrize(
    "numbers", [(), (signal.SIGCHLD,), (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1), (signal.SIGHUP, signal.SIGCHLD)]
)
def test_the_program_begins_as_it_would_alone(numbers: tuple[int, ...], tmp_path: Path) -> None:
    launched = ignoring(tmp_path, *numbers)
    alone = shown([*launched, *SHOW])
    assert alone["SigIgn:"] == sum(1 << (number - 1) for number in numbers)
    assert shown([*launched, *WATCHED, *SHOW]) == alone


def test_what_a_shell_ignores_the_program_ignores(tmp_path: Path) -> None:
    """Python, which ignores SIGPIPE in any case, cannot know by itself whether it was begun so."""
    for trap in ("trap '' PIPE", "trap '' XFSZ", ":"):
        alone = shown([*ignoring(tmp_path), "/bin/sh", "-c", f'{trap}; "$@"; exit $?', "sh", *SHOW])
        assert bool(alone["SigIgn:"]) == (trap != ":")
        assert shown([*ignoring(tmp_path), "/bin/sh", "-c", f'{trap}; "$@"; exit $?', "sh", *WATCHED, *SHOW]) == alone


@pytest.mark.parametrize(
    ("program", "code"), [("exit 3", 3), ("exit 0", 0), ("kill -9 $$", -signal.SIGKILL), ("kill -15 $$", -signal.SIGTERM)]
)
def test_how_the_program_ended_is_known_where_the_end_of_children_is_ignored(program: str, code: int, tmp_path: Path) -> None:
    launched = ignoring(tmp_path, signal.SIGCHLD)
    command = ["/bin/sh", "-c", f"echo out; {program}"]
    assert seen([*launched, *command]) == seen([*launched, *WATCHED, *command]) == (code, "out\n", "")


def test_a_program_that_is_not_there_is_told_also_where_the_end_of_children_is_ignored(tmp_path: Path) -> None:
    command = [*WATCHED, "/no/such/program"]
    result = seen([*ignoring(tmp_path, signal.SIGCHLD), *command])
    assert result == seen(command) and "No such file or directory" in result[2]


def test_a_program_whose_reader_has_gone_ends_as_alone() -> None:
    """`unstall run -- yes | head -1`"""
    with subprocess.Popen([*WATCHED, "yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watched:
        assert watched.stdout is not None and watched.stderr is not None
        assert watched.stdout.readline() == b"y\n"
        watched.stdout.close()
        assert (watched.wait(240), watched.stderr.read()) == (-signal.SIGPIPE, b"")


INTERRUPTED = """
import time
{before}
def wait():
    print("ready", flush=True)
    time.sleep(60)
wait()
"""
AFTER_THE_PROBE = "import os; os.kill(os.getpid(), 0)  # which switches the probe on"
CAUGHT = "import sys; sys.excepthook = lambda *error: print('mine', error[0].__name__)"


@pytest.mark.parametrize("before", ["", AFTER_THE_PROBE, CAUGHT], ids=["before the probe", "after the probe", "own hook"])
def test_ctrl_c_ends_the_program_by_its_signal(before: str, tmp_path: Path) -> None:
    program = write(tmp_path, INTERRUPTED.format(before=before))
    ends = []
    for command in ([sys.executable, str(program)], [*WATCHED, sys.executable, str(program)]):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        ) as running:
            assert running.stdout is not None and running.stdout.readline() == "ready\n"
            time.sleep(0.2)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=240)
            ends.append((running.returncode, out, err))
    assert ends[0] == ends[1] and ends[0][0] == -signal.SIGINT, ends
