"""Waits for signals that are held back, for a bounded time, and says which came.

Python's own `signal.sigtimedwait` cannot be trusted to wait: where the process is stopped meanwhile (Ctrl-Z, SIGSTOP) and goes on
after the time is up, it gives what happened to lie in memory, SIGHUP say, which nobody has sent. Asked without waiting it tells
the truth, so a descriptor is waited for that the kernel makes readable when one is there.
"""

from __future__ import annotations

import ctypes
import select
import signal
from collections.abc import Iterable
from functools import cache

SIGSET_BYTES = 128  # of libc, on every architecture
SFD_NONBLOCK_CLOEXEC = 0o2004000


def wait_for_signal(numbers: Iterable[int], seconds: float) -> signal.struct_siginfo | None:
    """One of these, which are held back (`pthread_sigmask`); None: none came within that time. In one thread of the process."""
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
