"""A callback of the program's own has not come back, and the training waits for it.

What it is
----------
A callback that tells a chat, a tracker or a data base of each epoch, copies a file away or asks a person, waits for something
that does not come. Keras calls callbacks between its steps, so that nothing is trained until they return. No error is raised.

How we know
-----------
Nothing has moved for much longer than the run's history allows and the program uses next to no CPU. The thread that trains stands
in the program's own code, called by the framework's list of callbacks, at the same line in every stack sample, and the kernel
says that it has slept all the while. A callback that only sleeps for a time is none. One that waits for another process (a copy
to a bucket, a score computed elsewhere) is given a minute: it may be at work, and neither its CPU nor its stack says so.

When this is wrong
------------------
If the callback is meant to wait: for a person's answer, or for an evaluation elsewhere that takes longer than all before. When it
goes on, the verdict is taken back.

What to do
----------
Give what the callback waits for a timeout, and catch its error: what only tells of a training should not be able to stop it. Or
hand the message to a thread of its own.
"""

from __future__ import annotations

from unstall.diagnosis.causes.generator_blocked import describe_caller, describe_wait, list_actions
from unstall.diagnosis.stalls import LOOKED_AT, Stall, StuckThread, find_idle_stall
from unstall.diagnosis.thread_waits import find_wait
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import Frame, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import CALLBACKS, find_program_folder, format_where, select_frames_called_by

_MEANT = ("a sleep to end",)
_PROCESSES = ("another process", "another process to end", "a process to end")
PROCESS_S = 60.0  # that another process is waited for before it counts as blocked


def examine(journal: Journal) -> Verdict:
    stall = find_idle_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    for still in stall.still():
        frames = find_callback_frames(still.thread)
        awaits = find_wait(still.thread, still.call)
        if not frames or not still.is_main or is_meant(awaits):
            continue
        if awaits in _PROCESSES and stall.seconds < PROCESS_S:
            return Clear("a callback waits for another process, which may be at work")
        return _found(journal, stall, still, frames)
    return Clear("no callback of the program's own stands still")


def find_callback_frames(thread: ThreadStack) -> list[Frame]:
    """The user's frames in a callback that the framework has called, innermost first; empty where it is in none."""
    return select_frames_called_by(CALLBACKS, thread)


def is_meant(awaits: str | None) -> bool:
    """Whether such a wait ends by itself, when it is meant to."""
    return awaits in _MEANT


def _found(journal: Journal, stall: Stall, still: StuckThread, frames: list[Frame]) -> Found:
    folder = find_program_folder(journal)
    place = format_where(frames[0], folder)
    count = len(still.samples)
    claim = f"the thread that calls it stands in {frames[0]['function']} at {place} ({count} of {count} samples)"
    return Found(
        certainty=Certainty.CERTAIN if count >= LOOKED_AT else Certainty.LIKELY,
        summary=f"Your callback has not come back from {frames[-1]['function']}. It {describe_wait(still)} in "
        f"{frames[0]['function']} at {place}{describe_caller(frames, folder)}.",
        evidence=tuple(
            each for each in (Evidence(claim, place, None, still.samples), stall.idleness(), stall.lateness()) if each is not None
        ),
        actions=_actions(still),
        where=place,
    )


def _actions(still: StuckThread) -> tuple[str, ...]:
    if (still.awaits or "").startswith(("/dev/pts/", "/dev/tty")):
        return ("answer it at its terminal", "or leave input() out of a training that nobody sits beside")
    return (
        *list_actions(still),
        "give what the callback waits for a timeout, and catch its error",
        "or hand it to a thread of its own, so that the training need not wait",
    )
