"""A process with all that it has started, whoever watches it, and which processes run Python."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import psutil


def kill_tree(pid: int) -> None:
    """At once. The process itself is still to be waited for by its parent."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        for each in family:
            with contextlib.suppress(psutil.Error):
                each.kill()  # psutil makes sure that the number still means the same process


# Whoever has started a worker watches it: when that process is gone, however it went, the worker saves and ends.
#
# The kernel is asked for SIGCONT, as a worker that was stopped hears of nothing else; one that goes on and finds its parent
# gone asks itself to end. SIGKILL would reach a stopped one, too, but then nothing would be saved. The kernel sends it at the
# end of the thread that has started us, which need not be the end of that process: so it is looked at who the parent is.


PR_SET_PDEATHSIG = 1
SUPERVISOR = "UNSTALL_SUPERVISOR"  # the number of the process that watches a worker
_parents: list[int] = []  # whose end is ours: one, or none yet


def end_with_parent(parent: int | None = None) -> None:
    """From now on. In the main thread. `parent`: who has started us, where that is known: it may be gone by now."""
    if _parents:
        return
    _parents[:] = [os.getppid() if parent is None else parent]
    signal.signal(signal.SIGCONT, _look)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT, 0, 0, 0)
    end_if_orphaned()


def end_with_supervisor() -> None:
    """The same for the worker of a supervisor; one that somebody has started by hand goes on without whoever did."""
    supervisor = os.environ.pop(SUPERVISOR, "")
    if supervisor.isdecimal():
        end_with_parent(os.getppid() if is_alive(int(supervisor)) else int(supervisor))


def die_with_parent(parent: int) -> None:
    """At once, in whatever it is, also where it was stopped: for a process that has nothing to save. `parent` has started it, in
    a thread that lasts as long as it is needed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not is_alive(parent):
        os._exit(1)


def end_if_orphaned() -> None:
    """Also for a thread that hears of signals while native code keeps Python from it."""
    if _parents and os.getppid() not in _parents:
        os.kill(os.getpid(), signal.SIGTERM)


def _look(number: int, frame: FrameType | None) -> None:
    end_if_orphaned()


def is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat[stat.rindex(")") + 2] not in "ZX"
    except (OSError, ValueError, IndexError):
        return False


# Finding the processes that run Python among some.


def is_python(pid: int) -> bool:
    """By the program that runs, or by libpython in its memory map (an embedded interpreter)."""
    try:
        program = Path(f"/proc/{pid}/exe").readlink().name
        if program.startswith("python") or program.startswith("pypy"):
            return True
        return "libpython" in Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False


def list_python_processes(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if is_python(pid)]


def find_other_program(pid: int) -> str | None:
    """The name of a program that is surely not Python; None of one that is, or that we may not look at."""
    try:
        name = Path(f"/proc/{pid}/exe").readlink().name
        Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return None
    return None if is_python(pid) else name
