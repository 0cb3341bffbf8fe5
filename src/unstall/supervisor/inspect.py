"""What is looked at in a program that stands still: its threads, children, source, cluster and data bases, and its native stacks.

All but the native stacks is read from /proc and from files, and stops nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from unstall.journal.events import Event, Frame, StackSampled, ThreadsSeen
from unstall.sensors import cluster, databases, packages, source_lines, stacks, threads


def look_at_threads(pid: int, others: Sequence[int] = ()) -> list[ThreadsSeen]:
    """Cheap: done with every sample. A native sample wakes all threads, so this comes before it."""
    thread_events = [threads.sample(pid), *(threads.sample(other, main=False) for other in others)]
    return [event for event in thread_events if event is not None]


def look_around(pid: int, others: Sequence[int], samples: Sequence[Event]) -> list[Event]:
    """Once, when the stacks have been sampled."""
    stacks = [sample for sample in samples if isinstance(sample, StackSampled)]
    around: list[Event | None] = [packages.sample(pid), *(cluster.sample(each) for each in (pid, *others))]
    around += [databases.sample(each, main=each == pid) for each in (pid, *others)]
    return [*threads.sample_children(others), *source_lines.read(stacks), *(event for event in around if event is not None)]


# The native stacks of a process, without the loss of a Ctrl-C that comes while they are read.
#
# py-spy stops the threads of the process for them. A signal that comes meanwhile goes to the first thread that is let go, and not
# to the main thread as usual. Python's handler then waits for the main thread, and one that sleeps in a system call, as in a
# stall, is not woken by it: Ctrl-C would do nothing. So it is watched which signals wait in the process while it is stopped, and
# a main thread that stands where it stood afterwards is sent these once more. Python counts a signal that was not handled yet
# once.


WATCHED = (signal.SIGINT, signal.SIGTERM)
LOOKS_EVERY_S = 0.005
SETTLES_S = 0.1  # what the process is given to act on a signal by itself


def sample_native(pid: int) -> Event:
    with _waiting_signals(pid) as waiting:
        event = stacks.sample(pid, native=True)
    if waiting and isinstance(event, StackSampled):
        _wake_main_thread(event, waiting)
    return event


@contextlib.contextmanager
def _waiting_signals(pid: int) -> Iterator[set[int]]:
    """Those that were seen to wait for any thread of the process, and have a handler there."""
    found: set[int] = set()
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(LOOKS_EVERY_S):
            found.update(_handled_and_pending(pid))

    looker = threading.Thread(target=look, name="unstall-signals", daemon=True)
    looker.start()
    try:
        yield found
    finally:
        is_over.set()
        looker.join()


def _handled_and_pending(pid: int) -> set[int]:
    masks = {"ShdPnd": 0, "SigCgt": 0}
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, mask = line.partition(":")
            if name in masks:
                masks[name] = int(mask, 16)
    both = masks["ShdPnd"] & masks["SigCgt"]
    return {number for number in WATCHED if both >> (number - 1) & 1}


def _wake_main_thread(before: StackSampled, numbers: set[int]) -> None:
    """Where it has not moved since: else it has the signal, and may be on its way out."""
    threading.Event().wait(SETTLES_S)
    now = stacks.sample(before.pid)
    position = _main_frames(before)
    if position and isinstance(now, StackSampled) and _main_frames(now) == position:
        for number in numbers:
            _send_to_thread(before.pid, before.pid, number)


def _main_frames(sample: StackSampled) -> list[tuple[str, str, int]]:
    """The Python frames of the main thread, whose number is that of its process."""
    frames: list[Frame] = next((thread["frames"] for thread in sample.threads if thread["id"] == sample.pid), [])
    return [(frame["file"], frame["function"], frame["line"]) for frame in frames if not frame["module"]]


def _send_to_thread(pid: int, thread: int, number: int) -> None:
    """As tgkill does; nothing where the C library has no such function, or it is not allowed."""
    tgkill = getattr(ctypes.CDLL(None), "tgkill", None)
    if tgkill is not None:
        tgkill(pid, thread, number)
