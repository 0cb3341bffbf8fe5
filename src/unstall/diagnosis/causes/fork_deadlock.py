"""A forked worker process waits for a thread or a lock that only its parent has, and the parent waits for the worker.

What it is
----------
fork() copies the memory of a process but only one of its threads. If TensorFlow, JAX, PyTorch or a lock was in use before,
the child finds thread pools without threads and locks that nobody in it will ever release. It waits for ever, and the parent
waits for its result at a pool, a queue or a data loader.

How we know
-----------
The program stands still and uses next to no CPU. A child process goes on from a copy of its parent's memory (the same
memory layout, or multiprocessing's fork in its stack). It stands in a call of a framework, or at a lock, in every stack
sample, and sleeps there on a futex: it waits for another thread, and has none that could wake it.

When this is wrong
------------------
If the child started threads of its own after the fork and waits for those.

What to do
----------
Start workers by spawn: multiprocessing.set_start_method("spawn") before anything else, or get_context("spawn"). Or fork them
before the framework is imported. Or let the workers use NumPy only. For a Keras PyDataset: use_multiprocessing=False.
"""

from __future__ import annotations

from unstall.diagnosis.locks import is_taking_a_lock
from unstall.diagnosis.stalls import Stall, StuckThread, find_idle_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import ChildSeen, Frame, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, is_native, is_user_file, select_user_frames

EXPLAINS = ("generator_blocked", "callback_blocked", "lock_deadlock", "thread_pool_exhausted")

_FORK = ("multiprocessing/popen_fork.py", "multiprocessing/popen_forkserver.py")
_FRAMEWORKS = (
    ("tensorflow/", "TensorFlow"),
    ("/keras/", "Keras"),
    ("/tf_keras/", "Keras"),
    ("/jax/", "JAX"),
    ("/jaxlib/", "JAX"),
    ("/torch/", "PyTorch"),
    ("/numpy/", "NumPy"),
    ("/cv2/", "OpenCV"),
)
# A worker that waits here has nothing to do, or waits for its parent: that is how it should be.
_AT_REST = ("multiprocessing/", "/queue.py", "/selectors.py", "/socket.py", "/subprocess.py", "concurrent/futures/")


def examine(journal: Journal) -> Verdict:
    stall = find_idle_stall(journal, counts_children=True)
    if not isinstance(stall, Stall):
        return stall
    folder = find_program_folder(journal)
    for still in stall.still():
        child = find_forked_child(stall, still)
        if child is None:
            continue
        waits_in = describe_wait(stall, still)
        if waits_in is not None:
            return _found(stall, still, child, waits_in, folder)
    return Clear("no forked child waits for a thread that it does not have")


def find_forked_child(stall: Stall, still: StuckThread) -> ChildSeen | None:
    """The child of another process of this program that was forked, not started anew."""
    child = next((each for each in stall.relatives if each.pid == still.pid), None)
    if child is None or any("forkserver" in part for frame in still.thread["frames"] for part in [frame["file"]]):
        return None
    by_stack = any(part in frame["file"] for frame in still.thread["frames"] for part in _FORK)
    return child if child.forked or (child.forked is None and by_stack) else None


def describe_wait(stall: Stall, still: StuckThread) -> str | None:
    """What the child waits in, in words: a framework, or a lock. None if it rests or waits for something outside."""
    if still.call is not None and still.call != "futex":
        return None
    python = [frame for frame in still.thread["frames"] if not is_native(frame)]
    library = _above_user(python)
    if any(part in frame["file"] for frame in library for part in _AT_REST):
        return None
    if is_taking_a_lock(stall, still):
        return "a lock"
    if has_native_threads(stall, still):
        return None
    name = next((name for frame in library for part, name in _FRAMEWORKS if part in frame["file"]), None)
    if name is not None:
        return name
    # Native code called straight from the user's line, asleep on a futex. Without the kernel's word that is a guess.
    return "native code" if python and not library and still.call == "futex" else None


def has_native_threads(stall: Stall, still: StuckThread) -> bool:
    """Whether the child has started threads of its own that run no Python: then it may wait for those."""
    seen = next((event for event in stall.threads if event.pid == still.pid), None)
    python = {thread["id"] for sample in still.samples for thread in sample.threads}
    return seen is not None and any(thread["id"] not in python for thread in seen.threads)


def _above_user(python: list[Frame]) -> list[Frame]:
    above: list[Frame] = []
    for frame in python:
        if is_user_file(frame["file"]):
            break
        above.append(frame)
    return above


def find_fork(thread: ThreadStack) -> Frame | None:
    """The user's line, in the parent's part of the stack, that forked."""
    after_fork = False
    for frame in thread["frames"]:
        after_fork = after_fork or any(part in frame["file"] for part in _FORK)
        if after_fork and not is_native(frame) and is_user_file(frame["file"]):
            return frame
    return None


def _awaited(waits_in: str) -> str:
    if waits_in == "a lock":
        return "a lock, which most likely was taken when it was forked"
    return f"threads{'' if waits_in == 'native code' else f' of {waits_in}'} that were not forked with it"


def _origin(still: StuckThread, child: ChildSeen) -> Evidence:
    if child.forked:
        claim = f"process {still.pid} runs in a copy of the memory of process {child.parent_pid}"
        return Evidence(claim, child.pid, None, (child,))
    return Evidence(f"the stack of process {still.pid} holds multiprocessing's fork", child.pid, None, still.samples)


def _found(stall: Stall, still: StuckThread, child: ChildSeen, waits_in: str, folder: str) -> Found:
    users = select_user_frames(still.thread)
    place = format_where(users[0], folder) if users else None
    fork = find_fork(still.thread)
    fork_place = format_where(fork, folder) if fork else None
    parent = next(
        (other for other in stall.still() if other.pid == child.parent_pid and other.thread["name"] == "MainThread"), None
    )
    parent_users = select_user_frames(parent.thread) if parent else []
    parent_place = format_where(parent_users[0], folder) if parent_users else None
    for_what = _awaited(waits_in)
    at = f" at {place}" if place else ""
    tail = f" It was forked at {fork_place}." if fork_place and fork_place != place else ""
    waiter = f" Its parent process stands at {parent_place}." if parent_place and parent_place not in (place, fork_place) else ""
    count = len(still.samples)
    evidence = [
        Evidence(f"forked process {still.pid} stands{at} ({count} of {count} samples)", place, None, still.samples),
        _origin(still, child),
        stall.lateness(),
    ]
    idle = stall.idleness()
    if idle:
        evidence.insert(2, idle)
    return Found(
        Certainty.CERTAIN if still.call == "futex" and waits_in != "native code" else Certainty.LIKELY,
        f"Worker process {still.pid} was forked and waits{at} for {for_what}.{tail}{waiter}",
        tuple(evidence),
        (
            'start workers with multiprocessing.get_context("spawn"), or set_start_method("spawn") at the top of the program',
            "or create the pool before the framework is imported, and use only NumPy in it",
        ),
        place,
    )
