"""Signals that are held back are waited for, and none is made up: not even where the process was stopped while it waited."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

WAITS = textwrap.dedent("""
    import signal, time
    from unstall.supervisor.pending import wait_for_signal

    numbers = {signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    print("ready", flush=True)
    until = time.monotonic() + 4
    while time.monotonic() < until:
        came = wait_for_signal(numbers, 0.3)
        if came is not None:
            print(signal.Signals(came.si_signo).name, came.si_pid, flush=True)
            if came.si_signo == signal.SIGTERM:
                break
""")


def waiting() -> subprocess.Popen[str]:
    started = subprocess.Popen([sys.executable, "-c", WAITS], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    return started


def test_what_comes_is_told_with_its_sender() -> None:
    with waiting() as started:
        for number in (signal.SIGHUP, signal.SIGTERM):
            started.send_signal(number)
            time.sleep(0.1)
        said, _ = started.communicate(timeout=20)
    assert said.splitlines() == [f"SIGHUP {os.getpid()}", f"SIGTERM {os.getpid()}"]


def test_nothing_is_made_up_by_a_stop_that_lasts_longer_than_the_wait() -> None:
    with waiting() as started:
        for _ in range(2):
            time.sleep(0.1)
            started.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            started.send_signal(signal.SIGCONT)
        started.send_signal(signal.SIGTERM)
        said, _ = started.communicate(timeout=20)
    assert said.splitlines() == [f"SIGTERM {os.getpid()}"]
