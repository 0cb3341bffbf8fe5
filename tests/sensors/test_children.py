"""children: a forked process is told from one that was started anew, by real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from unstall.sensors import threads


def test_a_forked_child_goes_on_from_our_memory() -> None:
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    try:
        seen = threads.look(pid)
        assert seen is not None
        assert seen.parent_pid == os.getpid()
        if seen.forked is None:
            pytest.skip("this kernel does not tell, or does not randomise addresses")
        assert seen.forked is True
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_program_started_anew_does_not() -> None:
    program = "print(flush=True); input()"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None and process.stdout.readline()  # before that the kernel may not know its command yet
        seen = threads.look(process.pid)
        assert seen is not None
        assert seen.forked in (False, None)
        assert seen.command[1:] == ["-c", program]
    finally:
        process.kill()
        process.communicate()
    assert threads.sample_children([process.pid]) == []
