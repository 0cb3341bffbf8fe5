"""A worker does not outlive whoever has started it, even where it was stopped while native code had it; no framework is needed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

WORKER = """
    import ctypes, threading, time
    from unstall.training.loop.interruption import Interruption
    from unstall.base.processes import end_with_parent

    end_with_parent()
    interruption = Interruption()
    interruption.start_listening()
    print("ready", flush=True)
    with interruption.exit_allowed():
        lock = ctypes.create_string_buffer(256)
        for _ in range(2):  # never given: Python gets no turn, as in a compilation
            ctypes.CDLL(None).pthread_mutex_lock(lock)
"""
PARENT = """
    import subprocess, sys, threading, time

    def start():
        worker = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
        worker.stdout.readline()
        print(worker.pid, flush=True)

    if sys.argv[2] == "of a thread":
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
    else:
        start()
    time.sleep(600)
"""


def parent(of: str) -> tuple[subprocess.Popen[str], psutil.Process]:
    """And the worker that it has started."""
    command = [sys.executable, "-c", textwrap.dedent(PARENT), textwrap.dedent(WORKER), of]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    return started, psutil.Process(int(started.stdout.readline()))


@pytest.mark.parametrize("is_stopped", [False, True], ids=["running", "stopped"])
def test_it_ends_with_its_parent_wherever_it_is(is_stopped: bool) -> None:
    started, worker = parent("of the process")
    if is_stopped:
        os.kill(worker.pid, signal.SIGSTOP)
    with started:
        started.kill()
    assert not psutil.wait_procs([worker], timeout=240)[1]


def test_it_goes_on_when_only_the_thread_ends_that_has_started_it_or_when_it_was_stopped_for_a_while() -> None:
    started, worker = parent("of a thread")
    with started:
        for number in (signal.SIGSTOP, signal.SIGCONT):
            os.kill(worker.pid, number)
        time.sleep(2)  # within one it would be gone, as nothing is unsaved
        assert worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE
        started.kill()
    assert not psutil.wait_procs([worker], timeout=240)[1]
