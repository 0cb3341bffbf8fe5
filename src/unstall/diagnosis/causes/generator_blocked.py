"""The program's own input code has stopped in the middle of making a batch, and everything waits for it.

What it is
----------
A generator, a PyDataset or a Python function in the pipeline waits for something that does not come: the network, a
queue, a lock, another process. No error is raised, so the training waits without a word.

How we know
-----------
No step has ended for much longer than the run's history allows and the program uses next to no CPU. A thread stands in
the program's own input code, called by the framework's data machinery, and has stood at the same line in every stack
sample.

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

from unstall.diagnosis.stacks import is_native, is_user_file, program_folder, same_position_in, where
from unstall.diagnosis.stalls import Stall, current_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Unknown, Verdict
from unstall.diagnosis.waits import waits_for
from unstall.journal.events import Frame, SampleFailed, StackSampled, ThreadStack
from unstall.journal.reader import Journal

EXPLAINS = ("input_starved", "storage_slow", "python_in_pipeline")
LEAST_SAMPLES = 2  # a thread must stand at the same line in at least so many samples, and in all of them

# Files of the frameworks that call the user's input code.
_MACHINERY = (
    "tensorflow/python/data/ops/from_generator_op.py",
    "tensorflow/python/ops/script_ops.py",
    "/trainers/data_adapters/",
    "/keras/src/trainers/epoch_iterator.py",
    "/tf_keras/src/engine/data_adapter.py",
    "/tf_keras/src/utils/data_utils.py",
    "torch/utils/data/",
)


def examine(journal: Journal) -> Verdict:
    stall = current_stall(journal)
    if stall is None:
        return Clear("the program makes progress")
    if not stall.samples:
        failed = journal.last(SampleFailed)
        return Unknown(failed.missing if failed else "a stack sample of the stall", failed.cure if failed else "")
    if stall.is_busy:
        return Clear("the program works: slow, not blocked")
    for thread in stall.samples[-1].threads:
        frames = input_frames(thread)
        if frames and stands_still(stall, thread):
            return _found(journal, stall, thread, frames)
    return Clear("no thread stands in the program's own input code")


def input_frames(thread: ThreadStack) -> list[Frame]:
    """The user's frames that were called by the data machinery, innermost first; empty if there are none."""
    users: list[Frame] = []
    for frame in thread["frames"]:
        if is_native(frame):
            continue
        if any(part in frame["file"] for part in _MACHINERY):
            return users
        if is_user_file(frame["file"]):
            users.append(frame)
    return []


def stands_still(stall: Stall, thread: ThreadStack) -> bool:
    """The same line in all samples of the stall. Samples that began while it still moved do not count."""
    samples = stall.samples[-3:]
    return len(samples) >= LEAST_SAMPLES and same_position_in(samples, thread) == len(samples)


def _found(journal: Journal, stall: Stall, thread: ThreadStack, frames: list[Frame]) -> Found:
    folder = program_folder(journal)
    place = where(frames[0], folder)
    awaited = waits_for(_with_native(stall, thread))
    called = f", called at {where(frames[1], folder)}" if len(frames) > 1 else ""
    waiting = f"waits for {awaited} " if awaited else "stands still "
    since = f" since step {stall.began.step}" if stall.began.step >= 0 else ""
    count = len(stall.samples[-3:])
    evidence = [
        Evidence(
            f"the input's thread stands in {frames[0]['function']} at {place} ({count} of {count} samples)",
            place,
            None,
            stall.samples[-3:],
        ),
        stall.lateness(),
    ]
    idle = stall.idleness()
    if idle:
        evidence.insert(1, idle)
    return Found(
        certainty=Certainty.CERTAIN if count >= 3 else Certainty.LIKELY,
        summary=f"Your input code has not given a batch{since}. It {waiting}in {frames[0]['function']} at {place}{called}.",
        evidence=tuple(evidence),
        do=(
            "give what it waits for a timeout and a retry, so that silence becomes an error",
            "or take the source out of the training: download or cache the files first",
        ),
        where=place,
    )


def _with_native(stall: Stall, thread: ThreadStack) -> ThreadStack:
    """The same thread with its native frames, where a native sample was taken."""
    native: StackSampled | None = stall.native
    if native is None:
        return thread
    return next((other for other in native.threads if other["id"] == thread["id"]), thread)
