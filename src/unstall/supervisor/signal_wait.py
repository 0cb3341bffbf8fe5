"""Waits for signals that are held back, for a bounded time, and says which came.

Python's own `signal.sigtimedwait` cannot be trusted to wait: where the process is stopped meanwhile (Ctrl-Z, SIGSTOP) and goes on
after the time is up, it gives what happened to lie in memory, SIGHUP say, which nobody has sent. Asked without waiting it tells
the truth, so a descriptor is waited for that the kernel makes readable when one is there.

A thread that some library began before they were held back (the driver's own, say, once a card was asked something) holds nothing
back: the kernel would give a signal to that one, which ends the process. So each has a handler that brings it over.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import threading
from collections.abc import Iterable
from functools import cache
from types import FrameType

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
    wanted = frozenset(numbers)
    came = signal.sigtimedwait(wanted, 0)
    if came is None and seconds > 0:
        select.select([_descriptor(wanted)], [], [], seconds)
        came = signal.sigtimedwait(wanted, 0)
    return came


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
