"""Whoever has started a worker watches it: when that process is gone, however it went, the worker saves and ends.

The kernel is asked for SIGCONT, as a worker that was stopped hears of nothing else; one that goes on and finds its parent gone
asks itself to end. SIGKILL would reach a stopped one, too, but then nothing would be saved. The kernel sends it at the end of
the thread that has started us, which need not be the end of that process: so it is looked at who the parent is.
"""

from __future__ import annotations

import ctypes
import os
import signal
from types import FrameType

PR_SET_PDEATHSIG = 1
_parents: list[int] = []  # whose end is ours: one, or none yet


def end_with_parent() -> None:
    """From now on. In the main thread."""
    _parents[:] = [os.getppid()]
    signal.signal(signal.SIGCONT, _look)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT, 0, 0, 0)


def end_if_orphaned() -> None:
    """Also for a thread that hears of signals while native code keeps Python from it."""
    if _parents and os.getppid() not in _parents:
        os.kill(os.getpid(), signal.SIGTERM)


def _look(number: int, frame: FrameType | None) -> None:
    end_if_orphaned()
