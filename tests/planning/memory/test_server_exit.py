"""The process that says what a step needs ends when nobody asks any more, whatever it is at: nothing of it is left.

It is stopped first: a process that is stopped, as one in a compiler, neither reads that nobody asks, nor heeds a request to end.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.programs import write
from unstall.planning.memory import server

CLIENT = """
import sys
from unstall.planning.memory import client as module
from unstall.planning.memory.client import PlannerClient
from unstall.planning.memory.messages import create_question
from unstall.config.settings import Settings

module.MAX_S = float(sys.argv[1])
comes = PlannerClient._comes

def comes_once_the_process_is_stopped(self, stdout):
    sys.stdin.readline()
    return comes(self, stdout)

PlannerClient._comes = comes_once_the_process_is_stopped
with PlannerClient() as client:
    try:
        client(create_question(Settings(model="ssd_tiny"), None, "training", "torch", "measured", {}))
    except module.PlannerError as error:
        print(error)
"""


@contextmanager
def client_process(folder: Path, max_s: float = 600.0) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """And the process that it asks, which is stopped."""
    program = write(folder, CLIENT)
    env = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, str(program), str(max_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        asked = None
        try:
            asked = stopped(process)
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
            yield process, asked
        finally:
            process.kill()
            if asked is not None and asked.is_running():
                asked.kill()


def stopped(client: subprocess.Popen[str]) -> psutil.Process:
    while client.poll() is None:
        for child in psutil.Process(client.pid).children():
            if server.__name__ in child.cmdline():
                wait_until_started(child)
                child.suspend()
                return child
        time.sleep(0.02)
    raise AssertionError(f"nobody was asked: exit code {client.returncode}")


def wait_until_started(process: psutil.Process) -> None:
    """It has loaded what it asks for its end by, and is on its way to the framework."""
    while not any("torch" in each.path or "numpy" in each.path for each in process.memory_maps()):
        time.sleep(0.02)


def is_gone(process: psutil.Process) -> bool:
    return not psutil.wait_procs([process], timeout=240)[1]


@pytest.mark.torch
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_whoever_asks(number: int, tmp_path: Path) -> None:
    with client_process(tmp_path) as (process, answering):
        process.send_signal(number)
        process.wait(240)
        assert is_gone(answering)


@pytest.mark.torch
def test_one_that_is_given_up_is_ended(tmp_path: Path) -> None:
    with client_process(tmp_path, max_s=0.5) as (process, answering):
        assert process.communicate(timeout=240)[0].startswith("The process that was to say what a step needs took longer than")
        assert process.returncode == 0 and is_gone(answering)


def test_what_it_has_started_ends_with_it(tmp_path: Path) -> None:
    from unstall.base.processes import kill_tree

    inner = "import subprocess, sys, time; subprocess.Popen(['sleep', '600']); print('ready', flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", inner], stdout=subprocess.PIPE, start_new_session=True) as outer:
        assert outer.stdout is not None and outer.stdout.readline() == b"ready\n"
        (child,) = psutil.Process(outer.pid).children()
        kill_tree(outer.pid)
        assert outer.wait(240) == -signal.SIGKILL and is_gone(child)
    kill_tree(outer.pid)  # one that is gone is no error
