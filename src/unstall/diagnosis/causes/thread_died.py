"""A thread of the program ended with an error, and the training waits for what it would have done.

What it is
----------
A thread that loads batches, or does other work for the training, raises an error that nobody catches. Python prints a
traceback and ends that thread; the rest of the program goes on. Whoever waits for its work, at a queue or an event, then waits
for ever.

How we know
-----------
The program stands still and uses next to no CPU. The training, or its input, waits for a queue, an event, a future or a
thread. A thread ended with an error within the last minute before that, and the code in which it ended uses what is waited for,
by the same name.

When this is wrong
------------------
Two objects of one name are not told apart. Where other threads fill the same queue, and are slow, the one that died is not
why; the verdict is then only likely.

What to do
----------
Mend the error that the thread ended with. Let a thread that fails say so: catch the error, put it into the queue and raise it
where the batches are taken, or use concurrent.futures, which raises it for you.
"""

from __future__ import annotations

from unstall.diagnosis.causes.generator_blocked import find_input_frames
from unstall.diagnosis.dead_threads import FOR_A_THREAD, DeadThread, find_awaited_name, find_dead_threads
from unstall.diagnosis.stalls import Stall, StuckThread, find_idle_stall
from unstall.diagnosis.thread_waits import find_wait
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, select_user_frames

EXPLAINS = ("generator_blocked", "callback_blocked", "input_starved")


def examine(journal: Journal) -> Verdict:
    stall = find_idle_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    folder = find_program_folder(journal)
    dead = find_dead_threads(journal, stall, folder)
    if not dead:
        return Clear("no thread ended with an error before it stood still")
    for still in stall.still():
        if not _matters(still) or find_wait(still.thread, still.call) not in FOR_A_THREAD:
            continue
        name = find_awaited_name(stall, still)
        one = next((each for each in dead if name is not None and name in each.error.names), None)
        if one is not None and name is not None:
            return _found(stall, still, one, name, folder)
    return Clear("nothing waits for what a thread that ended would have done, as far as is seen")


def _matters(still: StuckThread) -> bool:
    """Whether the training can be waiting for this thread."""
    return still.is_main and (still.thread["name"] == "MainThread" or bool(find_input_frames(still.thread)))


def _found(stall: Stall, still: StuckThread, dead: DeadThread, name: str, folder: str) -> Found:
    place = format_where(select_user_frames(still.thread)[0], folder)
    words, count = find_wait(still.thread, still.call), len(still.samples)
    evidence = [
        dead.evidence,
        Evidence(f"the code in which it ended uses `{name}`", name, None, (dead.error,)),
        Evidence(f"at {place} the program waits for {words}, `{name}` ({count} of {count} samples)", place, None, still.samples),
        *[each for each in (stall.idleness(), stall.lateness()) if each is not None],
    ]
    return Found(
        certainty=Certainty.LIKELY if _others(still) else Certainty.CERTAIN,
        summary=f"Thread {dead.words}. The program waits for `{name}` at {place}, which that thread used.",
        evidence=tuple(evidence),
        actions=(
            "mend the error that the thread ended with",
            "let a failing thread say so: catch the error there, put it into the queue and raise it where the batches are taken",
            "or use concurrent.futures, whose result() raises the error of a thread",
        ),
        where=dead.where or place,
    )


def _others(still: StuckThread) -> bool:
    """Whether another thread of the program lives that may do the same work."""
    threads = still.samples[-1].threads
    return any(
        thread["id"] != still.thread["id"]
        and thread["name"] != "MainThread"
        and select_user_frames(thread)
        and not find_input_frames(thread)
        for thread in threads
    )
