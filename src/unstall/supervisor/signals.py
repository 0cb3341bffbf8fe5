"""Waits for signals that are held back, for a bounded time, and says which came, and whether the whole group was sent it.

Python's own `signal.sigtimedwait` cannot be trusted to wait: where the process is stopped meanwhile (Ctrl-Z, SIGSTOP) and goes on
after the time is up, it gives what happened to lie in memory, SIGHUP say, which nobody has sent. Asked without waiting it tells
the truth, so a descriptor is waited for that the kernel makes readable when one is there.

A thread that some library began before they were held back (the driver's own, say, once a card was asked something) holds nothing
back: the kernel would give a signal to that one, which ends the process. So each has a handler that brings it over.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import select
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NoReturn

SIGSET_BYTES = 128  # of libc, on every architecture
SFD_NONBLOCK_CLOEXEC = 0o2004000
FROM_KERNEL = 0x80  # si_code of a signal that the terminal made
OF_KEYS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGWINCH})  # and of its size and its end


SI_TKILL = -6  # si_code of a signal that was sent to one thread: here, one that came to another and was brought over


def hold_back(numbers: Iterable[int]) -> set[int]:
    """In this thread, which is to wait for them; what was held back before."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    if threading.current_thread() is threading.main_thread():
        for number in {*numbers} - {signal.SIGCHLD}:  # which ends nobody, and is looked for anyway
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it, also for the program that is begun
                signal.signal(number, _bring_over)
    return before


def _bring_over(number: int, frame: FrameType | None) -> None:
    """Python calls this in the main thread, whichever it came to. There it waits until it is asked for."""
    signal.pthread_kill(threading.main_thread().ident or 0, number)


def is_of_terminal(info: signal.struct_siginfo) -> bool:
    """Whether the terminal sent it, to all programs in its foreground. Of one that was brought over nobody knows any more: it is
    taken for the terminal's if that would send us such."""
    if info.si_code != SI_TKILL or info.si_pid != os.getpid():
        return info.si_code == FROM_KERNEL
    return info.si_signo in OF_KEYS and _is_in_foreground()


def _is_in_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def wait_for_signal(numbers: Iterable[int], seconds: float) -> signal.struct_siginfo | None:
    """One of these, which are held back; None: none came within that time. In one thread of the process."""
    numbers_to_await = frozenset(numbers)
    signal_info = signal.sigtimedwait(numbers_to_await, 0)
    if signal_info is None and seconds > 0:
        select.select([_descriptor(numbers_to_await)], [], [], seconds)
        signal_info = signal.sigtimedwait(numbers_to_await, 0)
    return signal_info


@cache
def _descriptor(numbers: frozenset[int]) -> int:
    """Readable while one of them is pending; what is read from it is none of our concern."""
    libc = ctypes.CDLL(None, use_errno=True)
    signals = ctypes.create_string_buffer(SIGSET_BYTES)
    libc.sigemptyset(signals)
    for number in numbers:
        libc.sigaddset(signals, number)
    descriptor = int(libc.signalfd(-1, signals, SFD_NONBLOCK_CLOEXEC))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "signalfd")
    return descriptor


# What the program does with signals when it begins: what it would do alone, started by whoever started us.
#
# An ignored signal stays ignored in a program that is started. Python ignores SIGPIPE and SIGXFSZ for itself when it starts,
# and does not say what was before; and an ignored SIGCHLD would have the kernel forget how the program ended, so we do not
# ignore it.


IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
# Who starts programs with the signals ignored that it ignores. Others (Python, programs in Rust) ignore SIGPIPE themselves, and
# start programs without.
PASSES_SIGNALS_ON = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "busybox", "systemd"})


@cache
def list_inherited_ignored() -> frozenset[int]:
    """Those of SIGPIPE, SIGXFSZ and SIGCHLD that we were started with ignored, as far as it can be known. From here on SIGCHLD is
    not ignored any more."""
    found = {number for number in IGNORED_BY_PYTHON if _is_ignored_by(os.getppid(), number)}
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        found.add(signal.SIGCHLD)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    return frozenset(int(number) for number in found)


def _is_ignored_by(parent: int, number: int) -> bool:
    try:
        name = Path(f"/proc/{parent}/comm").read_text().strip()
        lines = Path(f"/proc/{parent}/status").read_text().splitlines()
        ignored = int(next(line for line in lines if line.startswith("SigIgn:")).split()[1], 16)
    except (OSError, ValueError, IndexError, StopIteration):
        return False
    return name in PASSES_SIGNALS_ON and bool(ignored >> (number - 1) & 1)


def spawn(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int], streams: Mapping[int, int]) -> int:
    """The number of the process that runs the program. OSError where it cannot be started. `streams`: by the number under which
    the program gets it, a descriptor of ours."""
    ignored = list_inherited_ignored()
    if signal.SIGCHLD in ignored:
        return _fork(command, environment, mask, streams)
    default = [number for number in IGNORED_BY_PYTHON if number not in ignored]
    actions = [(os.POSIX_SPAWN_DUP2, ours, number) for number, ours in streams.items()]
    return os.posix_spawnp(command[0], list(command), environment, setsigmask=mask, setsigdef=default, file_actions=actions)


def _fork(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int], streams: Mapping[int, int]) -> int:
    """The same where SIGCHLD is to be ignored again: posix_spawn can only have signals not ignored."""
    result, tell = os.pipe()  # closed when the program begins; else it tells why it did not
    pid = os.fork()
    if pid == 0:
        _become(command, environment, mask, streams, tell)
    os.close(tell)
    with os.fdopen(result, "rb") as file:
        why = file.read()
    if why:
        os.waitpid(pid, 0)
        raise OSError(int(why), os.strerror(int(why)))
    return pid


def _become(
    command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int], streams: Mapping[int, int], tell: int
) -> NoReturn:
    why = errno.EINVAL
    try:
        for number in IGNORED_BY_PYTHON:
            signal.signal(number, signal.SIG_IGN if number in list_inherited_ignored() else signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for stream, ours in streams.items():
            os.dup2(ours, stream)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.execvpe(command[0], list(command), environment)
    except OSError as error:
        why = error.errno or why
    finally:
        os.write(tell, str(why).encode())
        os._exit(127)


# --- was it sent to the whole process group, or to Unstall alone? ---

# `kill -TERM -GROUP`, `timeout`, Slurm and systemd send a signal to every process of a group or of a job. The program has such a
# signal already, and must not get it a second time: many programs save at the first and end at once at the second. The signal
# does not say to whom else it was sent. So a further process is kept in our process group, which blocks all signals: whatever was
# sent to the group stays pending there, and /proc shows it.
#
# The process is a `cat` that reads a pipe of which Unstall alone has the other end. It ends with Unstall, however that ends.
# Where it cannot be had, every signal is passed on.


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
