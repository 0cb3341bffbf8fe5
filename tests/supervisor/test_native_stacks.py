"""Ctrl-C that comes while native stacks are read does what it does otherwise, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unstall.journal.events import StackSampled
from unstall.supervisor.inspect import sample_native

LIMIT_S = 240
ROUNDS = 12
# The main thread sleeps in a system call, as in a stall; other threads are there to take the signal.
PROGRAM = """
import socket, sys, threading
ours, other = socket.socketpair()
for _ in range(8):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
try:
    ours.recv(1)
except KeyboardInterrupt:
    try:
        threading.Event().wait(1.0)  # it puts things in order: a second Ctrl-C would break that off
    except KeyboardInterrupt:
        sys.exit(2)
    sys.exit(0)
"""


def is_stopped(pid: int) -> bool:
    """All threads of it, by a tracer."""
    stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    return {stat.rpartition(")")[2].split()[0] for stat in stats} == {"t"}


def interrupt_while_stopped(pid: int, is_over: threading.Event) -> None:
    """Or at the end, where a busy machine gave this thread no time while it was stopped."""
    while not is_stopped(pid) and not is_over.is_set():
        pass
    os.kill(pid, signal.SIGINT)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_process_that_is_stopped_for_its_stacks_is_interrupted_once(turn: int) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None and program.stdout.readline() == "ready\n"
        is_over = threading.Event()
        sender = threading.Thread(target=interrupt_while_stopped, args=[program.pid, is_over])
        sender.start()
        try:
            sample = sample_native(program.pid)
            is_over.set()
            sender.join()
            assert program.wait(LIMIT_S) == 0
        finally:
            is_over.set()
            program.kill()
    assert isinstance(sample, StackSampled), sample
