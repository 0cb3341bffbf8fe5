"""Signals that are held back are waited for, and none is made up: not even where the process was stopped while it waited."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

WAITS = textwrap.dedent("""
    import signal, sys, threading, time
    from unstall.supervisor.signals import hold_back, wait_for_signal

    if "with a thread" in sys.argv:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    numbers = {signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD}
    hold_back(numbers)
    print("ready", flush=True)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        came = wait_for_signal(numbers, 0.3)
        if came is not None:
            print(signal.Signals(came.si_signo).name, came.si_pid, flush=True)
            if came.si_signo == signal.SIGTERM:
                break
""")


def waiting(*how: str) -> subprocess.Popen[str]:
    started = subprocess.Popen([sys.executable, "-c", WAITS, *how], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None and started.stdout.readline() == "ready\n"
    return started


def test_what_comes_is_told_with_its_sender() -> None:
    with waiting() as started:
        for number in (signal.SIGHUP, signal.SIGTERM):
            started.send_signal(number)
            time.sleep(0.1)
        said, _ = started.communicate(timeout=240)
    assert said.splitlines() == [f"SIGHUP {os.getpid()}", f"SIGTERM {os.getpid()}"]


def test_nothing_is_made_up_by_a_stop_that_lasts_longer_than_the_wait() -> None:
    with waiting() as started:
        for _ in range(2):
            time.sleep(0.1)
            started.send_signal(signal.SIGSTOP)
            time.sleep(0.5)
            started.send_signal(signal.SIGCONT)
        started.send_signal(signal.SIGTERM)
        said, _ = started.communicate(timeout=240)
    assert said.splitlines() == [f"SIGTERM {os.getpid()}"]


def test_a_thread_that_was_there_before_does_not_end_the_process_with_what_it_is_given() -> None:
    with waiting("with a thread") as started:
        for number in (signal.SIGHUP, signal.SIGTERM):
            started.send_signal(number)
            time.sleep(0.5)
        said, _ = started.communicate(timeout=240)
    assert [line.split()[0] for line in said.splitlines()] == ["SIGHUP", "SIGTERM"] and started.returncode == 0


def test_what_is_ignored_stays_so_for_the_program_too() -> None:
    asks = "import signal; print(signal.getsignal(signal.SIGINT).name)"
    begins = f"""
import signal, subprocess, sys
from unstall.supervisor.signals import hold_back
signal.signal(signal.SIGINT, signal.SIG_IGN)
hold_back({{signal.SIGINT}})
subprocess.run([sys.executable, "-c", {asks!r}], check=True)
"""
    done = subprocess.run([sys.executable, "-c", begins], capture_output=True, text=True, check=True)
    assert done.stdout == "SIG_IGN\n"
