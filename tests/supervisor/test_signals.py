"""A signal that was sent to a whole process group reaches the program once, and so does one that was sent to Unstall alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.programs import UNSTALL, write
from unstall.journal.events import SignalSent
from unstall.journal.reader import read_folder
from unstall.storage import run_lookup

LIMIT_S = 240  # that something hangs
COUNTS = """
import os, signal, sys
if "leaves the group" in sys.argv:
    os.setpgid(0, 0)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
    signal.signal(number, lambda number, frame: print(signal.Signals(number).name, flush=True))
print("ready", flush=True)
sys.stdin.readline()
print("end", flush=True)
"""


def wait_until(is_so: Callable[[], object], what: str) -> None:
    until = time.monotonic() + LIMIT_S
    while not is_so():
        assert time.monotonic() < until, f"not within {LIMIT_S} s: {what}"
        time.sleep(0.05)


class Watched:
    """A program that prints each signal that it gets, under `unstall run` in a process group of its own."""

    def __init__(self, started: subprocess.Popen[str], supervisor: psutil.Process) -> None:
        self.started, self.supervisor, self.noted = started, supervisor, 0

    def await_note(self) -> None:
        """Until Unstall has passed on, or not, one more signal."""
        self.noted += 1
        wait_until(
            lambda: len(read_folder(run_lookup.find("last").path).of(SignalSent)) >= self.noted,
            f"{self.noted} signals in the journal",
        )

    def kill_group(self, number: int) -> None:
        os.killpg(os.getpgid(self.supervisor.pid), number)
        self.await_note()

    def kill_alone(self, number: int) -> None:
        self.supervisor.send_signal(number)
        self.await_note()

    def witness(self) -> psutil.Process | None:
        return next((child for child in self.supervisor.children() if child.name() == "cat"), None)

    def end(self) -> list[str]:
        """What it had of signals."""
        out, _ = self.started.communicate("\n", timeout=LIMIT_S)
        *signals, end = out.splitlines()
        assert end == "end"
        return signals


@contextmanager
def watched(folder: Path, *arguments: str, before: tuple[str, ...] = ()) -> Iterator[Watched]:
    program = write(folder, COUNTS)
    started = subprocess.Popen(
        [*before, *UNSTALL, "run", "--quiet", "--", sys.executable, str(program), *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert started.stdout is not None and started.stdout.readline() == "ready\n"
        own = psutil.Process(started.pid)
        seen = Watched(started, own.children()[0] if before else own)
        wait_until(seen.witness, "the witness")
        yield seen
    finally:
        started.kill()
        started.wait()
        started.__exit__(None, None, None)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP])
def test_a_signal_to_the_group_reaches_the_program_once(number: signal.Signals, tmp_path: Path) -> None:
    with watched(tmp_path) as program:
        program.kill_group(number)
        assert program.end() == [number.name]
        assert program.started.returncode == 0


def test_each_of_several_signals_reaches_it_once_whoever_they_are_sent_to(tmp_path: Path) -> None:
    with watched(tmp_path) as program:
        program.kill_alone(signal.SIGTERM)
        program.kill_group(signal.SIGTERM)
        program.kill_group(signal.SIGTERM)
        program.kill_alone(signal.SIGTERM)
        program.kill_group(signal.SIGINT)
        program.kill_alone(signal.SIGUSR1)
        assert program.end() == ["SIGTERM"] * 4 + ["SIGINT", "SIGUSR1"]


def test_two_signals_to_the_group_at_once_are_told_apart(tmp_path: Path) -> None:
    with watched(tmp_path) as program:
        program.supervisor.suspend()
        group = os.getpgid(program.supervisor.pid)
        os.killpg(group, signal.SIGTERM)
        os.killpg(group, signal.SIGUSR1)
        program.supervisor.resume()
        program.await_note()
        program.await_note()
        assert sorted(program.end()) == ["SIGTERM", "SIGUSR1"]


def test_a_program_that_has_left_the_group_gets_it_from_unstall(tmp_path: Path) -> None:
    with watched(tmp_path, "leaves the group") as program:
        program.kill_group(signal.SIGTERM)
        program.kill_alone(signal.SIGTERM)
        assert program.end() == ["SIGTERM"] * 2


@pytest.mark.skipif(shutil.which("timeout") is None, reason="needs timeout of the GNU coreutils")
def test_timeout_reaches_it_once(tmp_path: Path) -> None:
    """It sends the signal to its child, and then to its group, in which both are."""
    with watched(tmp_path, before=("timeout", "-s", "TERM", "600")) as program:
        program.started.send_signal(signal.SIGALRM)  # as its own clock does when the time is up
        program.await_note()
        assert program.end() == ["SIGTERM"]
        assert program.started.returncode == 124


def test_a_signal_that_went_to_the_witness_alone_takes_none_from_the_program(tmp_path: Path) -> None:
    with watched(tmp_path) as program:
        first = program.witness()
        assert first is not None
        first.send_signal(signal.SIGTERM)  # by `killall cat`, say
        wait_until(lambda: program.witness() not in (None, first), "another witness")
        program.kill_alone(signal.SIGTERM)
        assert program.end() == ["SIGTERM"]


def test_without_a_witness_signals_are_passed_on(tmp_path: Path) -> None:
    with watched(tmp_path) as program:
        witness = program.witness()
        assert witness is not None
        witness.kill()
        program.kill_alone(signal.SIGTERM)
        assert program.end() == ["SIGTERM"]


def test_no_witness_is_left_behind(tmp_path: Path) -> None:
    with watched(tmp_path) as program:
        witness = program.witness()
        assert witness is not None
        assert witness.cmdline() == ["cat"], "`pkill -f unstall` is to reach the supervisor alone"
        assert witness.num_fds() == 3
        program.end()
        assert not witness.is_running()
    with watched(tmp_path) as program:
        program.kill_group(signal.SIGTERM)
        witness = program.witness()
        assert witness is not None
        program.supervisor.kill()
        program.started.wait()
        wait_until(lambda: not witness.is_running() or witness.status() == psutil.STATUS_ZOMBIE, "the end of the witness")
        assert program.end() == ["SIGTERM"]


TWO_WORKERS = """
import sys
from pathlib import Path
from unstall.journal.run_folder import RunFolder
from unstall.supervisor.launch import LaunchedProgram, wait_for_any

folder = Path(sys.argv[2])
first = LaunchedProgram([sys.executable, sys.argv[1], "first"], RunFolder(folder))
workers = [first, LaunchedProgram([sys.executable, sys.argv[1], "second"], RunFolder(folder), first.mask)]
while any(worker.ended is None for worker in workers):
    wait_for_any(workers, 0.1)
    for number, worker in enumerate(workers):
        for sent in worker.take_new_signals():
            print(number, sent.signal, flush=True)
"""
WORKER = """
import signal, sys, time
from pathlib import Path
folder = Path(__file__).parent
signal.signal(signal.SIGINT, lambda *_: open(folder / sys.argv[1], "a").write("SIGINT "))
(folder / (sys.argv[1] + "-ready")).touch()
while not (folder / "end").exists():
    time.sleep(0.05)
"""


def test_each_of_two_workers_gets_it_once(tmp_path: Path) -> None:
    worker, driver = write(tmp_path, WORKER, "worker.py"), write(tmp_path, TWO_WORKERS, "driver.py")
    with subprocess.Popen(
        [sys.executable, str(driver), str(worker), str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        assert started.stdout is not None
        wait_until(lambda: len(list(tmp_path.glob("*-ready"))) == 2, "both workers")
        wait_until(lambda: sum(child.name() == "cat" for child in psutil.Process(started.pid).children()) == 2, "both witnesses")
        for _ in range(2):
            os.killpg(started.pid, signal.SIGINT)
            assert sorted(started.stdout.readline() for _ in range(2)) == ["0 2\n", "1 2\n"]
        (tmp_path / "end").touch()
        started.communicate(timeout=LIMIT_S)
        assert started.returncode == 0
    assert [(tmp_path / name).read_text() for name in ("first", "second")] == ["SIGINT SIGINT "] * 2
