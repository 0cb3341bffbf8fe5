"""Every thread of a pool waits for work that only the same pool could do, so nothing is ever done.

What it is
----------
A task of a pool starts another task in the same pool and waits for it. When as many such tasks run as the pool has threads,
none is left for what they wait for. It happens with a py_function that calls a tf.function (both need TensorFlow's inter-op
threads), and with a Python ThreadPoolExecutor or ThreadPool that is given work by its own workers.

How we know
-----------
The program stands still and uses next to no CPU. TensorFlow: a thread of its pool stands in a Python function that was
called from a graph, and that function waits for a tf.function to run. Python: every thread of a pool is in a task, and every
one of these waits for a future; none is free. All stand at the same line in every stack sample.

When this is wrong
------------------
If the tf.function that is waited for is itself held up by something that neither uses CPU nor runs Python, such as a
collective operation or a read in native code.

What to do
----------
TensorFlow: call the function's Python body instead of the tf.function inside a py_function, or write the whole as TensorFlow
operations; or give the pool more threads: tf.config.threading.set_inter_op_parallelism_threads(n), with n larger than the
number of such calls at once. Python: give the inner tasks a pool of their own, or call them directly.
"""

from __future__ import annotations

import re

from unstall.diagnosis.frame_roles import Role, has_role
from unstall.diagnosis.stalls import Stall, StuckThread, find_idle_stall
from unstall.diagnosis.verdict import Certainty, Clear, Evidence, Found, Verdict
from unstall.journal.events import Frame, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import find_program_folder, format_where, is_native, is_user_file, select_user_frames

EXPLAINS = ("generator_blocked", "callback_blocked")

# Where else a future may be fulfilled: then the threads that wait for one may wait for something outside their pool.
_OTHER_SOURCES = ("asyncio/base_events.py", "concurrent/futures/process.py")
_POOL_TASK = (("concurrent/futures/thread.py", "run"), ("multiprocessing/pool.py", "worker"))
_POOL_THREAD = (("concurrent/futures/thread.py", "_worker"), ("multiprocessing/pool.py", "worker"))
_FUTURE = (("concurrent/futures/_base.py", ""), ("multiprocessing/pool.py", "get"), ("multiprocessing/pool.py", "wait"))


def examine(journal: Journal) -> Verdict:
    stall = find_idle_stall(journal)
    if not isinstance(stall, Stall):
        return stall
    still = [each for each in stall.still() if each.is_main]
    folder = find_program_folder(journal)
    return _tensorflow(stall, still, folder) or _python(stall, still, folder) or Clear("no pool is full of waiting threads")


# --- TensorFlow's inter-op threads ---


def _tensorflow(stall: Stall, still: list[StuckThread], folder: str) -> Found | None:
    nested = [each for each in still if is_nested_call(each.thread)]
    if not nested:
        return None
    # Python code called from a graph that waits for anything else is the root, and this is what follows from it.
    if any(_in_graph(each.thread) and not is_nested_call(each.thread) for each in still):
        return None
    users = select_user_frames(_innermost(nested).thread)
    place = format_where(users[0], folder)
    count = len(nested)
    many = "1 thread of TensorFlow's pool waits" if count == 1 else f"{count} threads of TensorFlow's pool wait"
    samples = len(nested[0].samples)
    evidence = [
        Evidence(
            f"{many} in a Python function called from a graph for a tf.function, in {users[0]['function']} at {place}"
            f" ({samples} of {samples} samples)",
            count,
            None,
            nested[0].samples,
        ),
        *_state(stall),
    ]
    if any("RunSync" in frame["function"] for each in nested for frame in each.thread["frames"]):
        evidence.insert(
            1, Evidence("in native code they wait in RunSync for the function to be run", "RunSync", None, nested[0].samples)
        )
    return Found(
        Certainty.CERTAIN,
        f"{users[0]['function']} at {place} runs inside a py_function and waits for a tf.function, which needs a thread of the"
        " same pool of TensorFlow.",
        tuple(evidence),
        (
            "call the plain Python function inside the py_function, or write it with TensorFlow operations only",
            "or give TensorFlow more threads: tf.config.threading.set_inter_op_parallelism_threads(n)",
        ),
        place,
    )


def _in_graph(thread: ThreadStack) -> bool:
    """Python code of the user's that TensorFlow called from a graph."""
    return bool(select_user_frames(thread)) and any(has_role(frame, Role.CALLS_FROM_GRAPH) for frame in thread["frames"])


def is_nested_call(thread: ThreadStack) -> bool:
    """Whether it is Python code called from a graph that itself waits for a tf.function."""
    above: list[Frame] = []
    for frame in thread["frames"]:
        if is_native(frame):
            continue
        if is_user_file(frame["file"]):
            break
        above.append(frame)
    runs = any(has_role(frame, Role.RUNS_FUNCTION) for frame in above)
    return runs and _in_graph(thread)


def _innermost(nested: list[StuckThread]) -> StuckThread:
    """Of several, one on TensorFlow's own compute thread: those that tf.data runs may only wait for it."""
    return next((each for each in nested if each.kernel_name.startswith("tf_Compute")), nested[-1])


# --- pools of Python's own ---


def _python(stall: Stall, still: list[StuckThread], folder: str) -> Found | None:
    pools: dict[str, list[ThreadStack]] = {}
    for thread in stall.samples[-1].threads:
        if _has(thread, _POOL_THREAD):
            pools.setdefault(find_pool_name(thread), []).append(thread)
    full = {name: threads for name, threads in pools.items() if all(is_waiting_for_future(thread) for thread in threads)}
    others_busy = any(
        _has(thread, _POOL_TASK) and not is_waiting_for_future(thread) and select_user_frames(thread)
        for threads in pools.values()
        for thread in threads
    )
    elsewhere = any(
        part in frame["file"] for thread in stall.samples[-1].threads for frame in thread["frames"] for part in _OTHER_SOURCES
    )
    if not full or others_busy or elsewhere:
        return None
    name, threads = max(full.items(), key=lambda item: len(item[1]))
    standing = {each.thread["id"]: each for each in still}
    if not all(thread["id"] in standing for thread in threads):
        return None
    first = standing[threads[0]["id"]]
    users = select_user_frames(first.thread)
    place = format_where(users[0], folder)
    seen = len(first.samples)
    claim = (
        f"all {len(threads)} threads of pool {name} are in a task that waits for a future, at {place} ({seen} of {seen} samples)"
    )
    return Found(
        Certainty.CERTAIN,
        f"All {len(threads)} threads of the pool {name} wait for a future, at {place}, and no thread of a pool runs a task that"
        " could give it.",
        (Evidence(claim, len(threads), None, first.samples), *_state(stall)),
        ("give the inner tasks a pool of their own", "or call them directly instead of submitting them"),
        place,
    )


def find_pool_name(thread: ThreadStack) -> str:
    """ThreadPoolExecutor-0 of ThreadPoolExecutor-0_3. The threads of a multiprocessing ThreadPool have no name in common."""
    name = thread["name"]
    return re.sub(r"_\d+$", "", name) if re.search(r"_\d+$", name) else "of threads"


def is_waiting_for_future(thread: ThreadStack) -> bool:
    """It is in a task, and the task, in the user's code, waits for a result of a pool."""
    above: list[Frame] = []
    for frame in thread["frames"]:
        if is_native(frame):
            continue
        if is_user_file(frame["file"]):
            return _matches(above, _FUTURE) and _has(thread, _POOL_TASK)
        above.append(frame)
    return False


def _has(thread: ThreadStack, kinds: tuple[tuple[str, str], ...]) -> bool:
    return _matches([frame for frame in thread["frames"] if not is_native(frame)], kinds)


def _matches(frames: list[Frame], kinds: tuple[tuple[str, str], ...]) -> bool:
    return any(
        frame["file"].endswith(file) and (not function or frame["function"].rsplit(".", 1)[-1] == function)
        for frame in frames
        for file, function in kinds
    )


def _state(stall: Stall) -> list[Evidence]:
    idle = stall.idleness()
    return [*([idle] if idle else []), stall.lateness()]
