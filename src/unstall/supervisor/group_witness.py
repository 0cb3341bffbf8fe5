"""Tells a signal that was sent to the whole process group from one that was sent to Unstall alone.

`kill -TERM -GROUP`, `timeout`, Slurm and systemd send a signal to every process of a group or of a job. The program has such a
signal already, and must not get it a second time: many programs save at the first and end at once at the second. The signal does
not say to whom else it was sent. So a further process is kept in our process group, which blocks all signals: whatever was sent
to the group stays pending there, and /proc shows it.

The process is a `cat` that reads a pipe of which Unstall alone has the other end. It ends with Unstall, however that ends. Where
it cannot be had, every signal is passed on.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

WAITS_S = 0.05  # a sender that goes through the processes one by one may reach the witness after us
LOOKS_EVERY_S = 0.002
STANDARD_PATH = "/usr/bin:/bin"
PENDING = ("SigPnd:", "ShdPnd:")  # of /proc/PID/status: signals for its thread, and for the whole process


class GroupWitness:
    """To be started after the program: a signal that the witness has then reached the program, too."""

    def __init__(self, numbers: Iterable[int]) -> None:
        """`numbers`: the signals that it is asked about. The caller holds them back in its own thread."""
        self._numbers = frozenset(int(number) for number in numbers)
        self._arrived: set[int] = set()  # at an earlier process: not asked about so far
        self._unexplained: frozenset[int] = frozenset()  # pending when last looked at, and not sent to us
        self._process = _start()

    def has(self, number: int, until: float) -> bool:
        """Whether this signal, which was sent to us, was sent to the witness, too. It is waited for until then (monotonic)."""
        if number in self._arrived:
            self._arrived.discard(number)
            return True
        if self._process is None or number not in self._numbers:
            return False
        while number not in (pending := self._pending()) and time.monotonic() < until:
            time.sleep(LOOKS_EVERY_S)
        if pending:
            self._replace()
            self._arrived |= (pending - {number}) & signal.sigpending()
        if number in pending:
            signal.sigtimedwait({number}, 0)  # `timeout` sends it to its child, then to the group: two at once are one
        return number in pending

    def look(self) -> None:
        """To be called now and then. A signal that was sent to the witness and not to us would be taken for a later one: it is
        given time to reach us, and dropped."""
        if self._process is None:
            return
        unexplained = frozenset(self._pending() - signal.sigpending())
        if unexplained & self._unexplained:
            self._replace()
            unexplained = frozenset()
        self._unexplained = unexplained

    def end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # also one that was stopped
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def _replace(self) -> None:
        """What is pending in a process that holds it back cannot be taken from it."""
        self.end()
        self._process = _start()

    def _pending(self) -> set[int]:
        """Nothing where the process is gone."""
        assert self._process is not None
        found = 0
        with contextlib.suppress(OSError, ValueError, IndexError):
            for line in Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
                if line.startswith(PENDING):
                    found |= int(line.split()[1], 16)
        return {number for number in self._numbers if found >> (number - 1) & 1}


@cache
def _program() -> str | None:
    return shutil.which("cat", path=STANDARD_PATH) or shutil.which("cat")


def _start() -> subprocess.Popen[bytes] | None:
    """None where processes, descriptors or memory have run out, or there is no such program."""
    program = _program()
    if program is None:
        return None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # which the process inherits
    try:
        return subprocess.Popen(
            ["cat"],
            executable=program,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
        )
    except (OSError, subprocess.SubprocessError):
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
