"""The program's own input code has stopped in the middle of making a batch, and everything waits for it.

What it is
----------
A generator, a PyDataset, a worker of a data loader or a Python function in the pipeline waits for something that does not
come: the network, a queue, another process, a file. No error is raised, so the training waits without a word.

How we know
-----------
No step has ended for much longer than the run's history allows and the program uses next to no CPU. A thread, of the
program itself or of one of its worker processes, stands in the program's own input code: called by the framework's data
machinery, in a generator that a loop goes through, or in the loop that trains; or it stands in the opening of a data file, also
before the first step. It has stood at the same line in every stack sample, and the kernel says that it has slept, or only looked
and slept again, all the while.

When this is wrong
------------------
If the source is merely slow now and then, by more than all it has shown before. When it goes on, the verdict is taken
back.

What to do
----------
Give what it waits for a timeout and a retry, so that a silent source becomes an error. Or take the slow source out of the
training: download or cache the files first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from unstall.diagnosis.dead_threads import list_dead_thread_evidence
from unstall.diagnosis.frame_roles import STEPS_OF_WATCH as _STEPS_OF_WATCH
from unstall.diagnosis.frame_roles import Role, list_files
from unstall.diagnosis.stalls import LOOKED_AT, Stall, StuckThread, find_idle_stall
from unstall.diagnosis.thread_waits import OPENS, find_wait
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import FitBegan, Frame, FrameworkLoaded, LibrariesSeen, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import (
    CALLBACKS,
    find_program_folder,
    format_where,
    is_user_file,
    select_frames_called_by,
    select_program_frames,
    select_user_frames,
)

EXPLAINS = ("input_starved", "storage_slow", "python_in_pipeline", "collective_stuck")

_TRAINING = frozenset({"train", "loop", "first_step", "validate"})
_NOT_INPUT = ("a sleep to end", "room in a queue", "a connection")  # what a thread may wait for with nothing being wrong
_OTHERS_WORK = ("a pool of worker processes", "a future", "a queue between processes")
# What is often behind such a wait, and cures it better than a timeout.
_ACTIONS = {
    "a pool of worker processes": "use concurrent.futures.ProcessPoolExecutor, which raises when a worker dies:"
    " a multiprocessing.Pool waits for ever for the work of a dead one",
    "a queue": "see that what fills the queue is still alive: a thread that died of an error leaves it empty",
    "a queue between processes": "see that what fills the queue is still alive: a process that died of an error leaves it empty",
    "another process": "read what the process prints (communicate()), or send it to DEVNULL:"
    " a pipe that nobody reads fills up, and the process stops",
    "a file to open": "see what it is (`ls -l`): a named pipe into which nobody writes does not open, nor does a file"
    " on a network disk whose server is gone",
}
# A named pipe by which a program is given commands waits in the same call, and is not named like data.
_DATA_FILE = re.compile(
    r"\.(jpe?g|png|bmp|gif|webp|tiff?|dcm|wav|flac|mp[34]|avi|tfrecords?|records?|csv|tsv|jsonl?|xml|txt|np[yz]|mat|h5|hdf5|parquet"
    r"|arrow|pkl|pickle|pt|pth|safetensors|tar|zip|t?gz)$|-of-\d+$",
    re.IGNORECASE,
)
_POOLS = ("concurrent/futures/thread.py",)
_HELPERS = ("resource_tracker", "forkserver")  # processes of multiprocessing that make nothing


def examine(journal: Journal) -> Verdict:
    stall = find_idle_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    standing = stall.still()
    for still in standing:
        frames = find_input_frames(still.thread)
        words = find_wait(still.thread, still.call)
        may_rest = any(frame["file"].endswith(_STEPS_OF_WATCH) for frame in still.thread["frames"])
        if frames and words not in (_NOT_INPUT if may_rest else ("room in a queue",)):
            awaited, frames = (_find_awaited(standing, still) if words == "a future" else None) or (still, frames)
            what = "Your input code has not given a batch" if _trains(stall) else "Your input code has not returned"
            return _found(journal, stall, awaited, frames, what, "the input's thread")
    for still in standing:
        frames = find_loop_frames(journal, stall, still)
        if frames:
            what = "Your training loop has not come to its next step" if _trains(stall) else "Your loop has not come further"
            return _found(journal, stall, still, frames, what, "the thread that trains" if _trains(stall) else "the main thread")
    for still in standing:
        frames = find_reading_frames(journal, still)
        if frames:
            what = "Your program has not come to its next step" if _trains(stall) else "Your program has not come further"
            return _found(journal, stall, still, frames, what, "the main thread" if _is_main(still) else "a thread")
    return Clear("no thread stands in the program's own input code")


def _trains(stall: Stall) -> bool:
    """Whether it is seen that the program trains: else nobody knows of steps or batches."""
    return stall.began.step >= 0 or stall.began.phase in _TRAINING


def find_input_frames(thread: ThreadStack) -> list[Frame]:
    """The user's frames that were called by the data machinery, innermost first; empty if there are none."""
    return select_frames_called_by(list_files(Role.CALLS_INPUT), thread, but=CALLBACKS)


def _find_awaited(standing: Sequence[StuckThread], waiting: StuckThread) -> tuple[StuckThread, list[Frame]] | None:
    """The thread of a pool that stands in the user's code, where one alone does: its future is what the input waits for."""
    found = []
    for other in standing:
        frames = select_frames_called_by(_POOLS, other.thread) if other.pid == waiting.pid and other is not waiting else []
        if any(is_user_file(frame["file"]) for frame in frames) and find_wait(other.thread, other.call) not in _NOT_INPUT:
            found.append((other, frames))
    return found[0] if len(found) == 1 else None


def find_loop_frames(journal: Journal, stall: Stall, still: StuckThread) -> list[Frame]:
    """The user's frames of a main thread that waits, in its own loop, for what it would train on next."""
    frames = select_user_frames(still.thread)
    words = find_wait(still.thread, still.call)
    if not _is_main(still) or not frames or words in (None, *_NOT_INPUT):
        return []
    if words in _OTHERS_WORK and _a_child_may_work(stall):
        return []
    in_generator = any(source.is_generator for frame in frames[:-1] if (source := stall.source(frame["file"], frame["line"])))
    is_own = still.is_main and stall.began.phase in _TRAINING  # another process has a loop of its own
    if (_loaded_framework(journal) and in_generator) or (is_own and _beside_training(journal, stall, frames)):
        return frames
    return []


def find_reading_frames(journal: Journal, still: StuckThread) -> list[Frame]:
    """The frames of the user's, or of an installed trainer, under which a file that is named like data does not open."""
    opens_data = still.call in OPENS and still.awaits is not None and _DATA_FILE.search(still.awaits) is not None
    return select_program_frames(still.thread) if opens_data and _loaded_framework(journal) else []


def _loaded_framework(journal: Journal) -> bool:
    return journal.last(FrameworkLoaded) is not None or any(seen.names for seen in journal.of(LibrariesSeen))


def _is_main(still: StuckThread) -> bool:
    return still.thread["name"] == "MainThread"


def _a_child_may_work(stall: Stall) -> bool:
    """Whether a child process moves, or has not been looked at often enough yet: then it is what is waited for."""
    standing = {still.pid for still in stall.still(strict=False) if still.thread["name"] == "MainThread"}
    workers = [child for child in stall.relatives if not any(name in part for part in child.command for name in _HELPERS)]
    return any(child.pid not in standing for child in workers)


def _beside_training(journal: Journal, stall: Stall, frames: list[Frame]) -> bool:
    """Whether a frame stands in the very loop that calls the training step, and not in that call itself."""
    fit = journal.last(FitBegan)
    if fit is None or fit.api != "own_loop" or not fit.where:
        return False
    file, _, line = fit.where.rpartition(":")
    for frame in frames:
        source = stall.source(frame["file"], frame["line"])
        same_file = frame["file"].endswith(file.lstrip("./"))
        if source and source.loop and same_file and source.loop[0] <= int(line) <= source.loop[1] and frame["line"] != int(line):
            return True
    return False


def _found(journal: Journal, stall: Stall, still: StuckThread, frames: list[Frame], what: str, who: str) -> Found:
    folder = find_program_folder(journal)
    place = format_where(frames[0], folder)
    since = f" since step {stall.began.step}" if stall.began.step >= 0 else ""
    process = "" if still.is_main else f" of worker process {still.pid}"
    count = len(still.samples)
    evidence = [
        Evidence(
            f"{who}{process} stands in {frames[0]['function']} at {place} ({count} of {count} samples)",
            place,
            None,
            still.samples,
        ),
        stall.lateness(),
    ]
    idle = stall.idleness()
    if idle:
        evidence.insert(1, idle)
    evidence += list_dead_thread_evidence(journal, stall, still, folder)
    return Found(
        certainty=Certainty.CERTAIN if count >= LOOKED_AT or not still.is_main else Certainty.LIKELY,
        summary=f"{what}{since}. It {describe_wait(still)} in {frames[0]['function']} at "
        f"{place}{describe_caller(frames, folder)}.",
        evidence=tuple(evidence),
        actions=(
            *list_actions(still),
            "give what it waits for a timeout and a retry, so that silence becomes an error",
            "or take the source out of the training: download or cache the files first",
        ),
        where=place,
    )


def list_actions(still: StuckThread) -> tuple[str, ...]:
    action = _ACTIONS.get(find_wait(still.thread, still.call) or "")
    return (action,) if action else ()


def describe_wait(still: StuckThread) -> str:
    words = find_wait(still.thread, still.call)
    if still.awaits and words:
        return f"waits for {words} ({still.awaits})"
    if still.awaits or words:
        return f"waits for {still.awaits or words}"
    return "stands still"


def describe_caller(frames: list[Frame], folder: str) -> str:
    """Where the user's code called it, if that is another line of the user's."""
    return f", called at {format_where(frames[1], folder)}" if len(frames) > 1 else ""
