"""What a thread waits for, in words, from the innermost frames of its stack."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from unstall.journal.events import Frame, ThreadsSeen, ThreadStack
from unstall.journal.stack_frames import is_user_file

# (part of the file, part of the function or "" for any, words).
_WAITS = (
    ("multiprocessing/pool.py", "", "a pool of worker processes"),
    ("multiprocessing/queues.py", "", "a queue between processes"),
    ("multiprocessing/synchronize.py", "", "a lock between processes"),
    ("multiprocessing/connection.py", "", "another process"),
    ("multiprocessing/popen", "", "a process to end"),
    ("concurrent/futures", "", "a future"),
    ("queue.py", "get", "a queue"),
    ("queue.py", "put", "room in a queue"),
    ("ssl.py", "", "the network"),
    ("socket.py", "", "the network"),
    ("http/client.py", "", "the network"),
    ("urllib", "", "the network"),
    ("requests/", "", "the network"),
    ("subprocess.py", "", "another process"),
    ("selectors.py", "", "a file or socket to become ready"),
    ("threading.py", "join", "a thread to end"),
    ("threading.py", "Event", "an event that another thread must set"),
    ("threading.py", "acquire", "a lock"),
    ("threading.py", "__enter__", "a lock"),
    ("threading.py", "wait", "another thread"),
    ("gzip.py", "", "a file"),
    ("shutil.py", "", "a file"),
)
# Functions of the C library and of the interpreter, by their whole name, and system calls alike.
_SYSTEM = {
    "recv": "the network",
    "recvfrom": "the network",
    "recvmsg": "the network",
    "send": "the network",
    "sendto": "the network",
    "sendmsg": "the network",
    "connect": "the network",
    "accept": "a connection",
    "accept4": "a connection",
    "poll": "a file or socket to become ready",
    "ppoll": "a file or socket to become ready",
    "select": "a file or socket to become ready",
    "pselect6": "a file or socket to become ready",
    "epoll_wait": "a file or socket to become ready",
    "epoll_pwait": "a file or socket to become ready",
    "nanosleep": "a sleep to end",
    "clock_nanosleep": "a sleep to end",
    "pause": "a signal",
    "read": "a file or pipe",
    "readv": "a file or pipe",
    "pread64": "a file",
    "open": "a file to open",
    "open64": "a file to open",
    "openat": "a file to open",
    "stat": "a file to open",
    "newfstatat": "a file to open",
    "flock": "a lock on a file",
    "fcntl": "a lock on a file",
    "fcntl64": "a lock on a file",
    "fsync": "a disk",
    "wait4": "another process to end",
    "waitpid": "another process to end",
    "waitid": "another process to end",
    "PyThread_acquire_lock_timed": "a lock",
}
# What a framework looks for now and then, in a loop that sleeps: (part of the file, function, words).
_LOOKED_FOR = (
    ("tensorflow/python/training/checkpoint_utils.py", "wait_for_new_checkpoint", "a new checkpoint"),
    ("tensorflow_core/python/training/checkpoint_utils.py", "wait_for_new_checkpoint", "a new checkpoint"),
    ("tensorflow/python/training/session_manager.py", "wait_for_session", "the chief to make a session"),
)
OPENS = ("open", "openat", "stat", "newfstatat")  # system calls on a file by its path: only one that does not answer keeps them
LOOKED_AT = 6


def find_wait(thread: ThreadStack, call: str | None = None) -> str | None:
    """In words, or None if nothing says so. `call` is the system call that the thread sleeps in, where it is known.

    Of the library's frames the one nearest to the user's own counts: a queue waits in a lock, a future in a condition.
    """
    for frame in reversed(_library_frames(thread)):
        words = _python_wait(frame)
        if words:
            return words
    if call in _SYSTEM:
        return _SYSTEM[call]
    for frame in thread["frames"][:LOOKED_AT]:
        name = frame["function"].removeprefix("__").removeprefix("libc_")
        if frame["module"] and name in _SYSTEM:
            return _SYSTEM[name]
    return None


def find_awaited_thing(thread: ThreadStack) -> str | None:
    """What a framework's own loop looks for again and again, in words."""
    for frame in _library_frames(thread):
        for file, function, words in _LOOKED_FOR:
            if frame["file"].endswith(file) and frame["function"] == function:
                return words
    return None


def _library_frames(thread: ThreadStack) -> list[Frame]:
    """Python frames from the innermost up to the user's own; the innermost few where the user's code is not in the stack."""
    frames: list[Frame] = []
    for frame in thread["frames"]:
        if not frame["module"] and is_user_file(frame["file"]):
            return frames
        if not frame["module"]:
            frames.append(frame)
    return frames[:LOOKED_AT]


def _python_wait(frame: Frame) -> str | None:
    for file, function, words in _WAITS:
        if file in frame["file"] and function in frame["function"]:
            return words
    return None


# For how long a thread has stood still, from what the kernel says of when it last ran.
#
# A thread that waits in a loop (sleep, look, sleep) wakes all the time and yet does nothing: it polls. It is told from one
# that works by what a wake-up costs.


IDLE_CPU_MS = 0.6  # a thread that has used less between two looks has done nothing meanwhile, though it may have woken
POLL_CPU_MS = 0.15  # a wake-up that costs less CPU has done no work: the steps of all frameworks cost more
MIN_LOOKS = 3
LONG_S = 5.0  # a thread that has slept so long without waking, or that polls, stands still


def measure_standing_s(seen: Iterable[ThreadsSeen], pid: int, thread: int) -> float | None:
    """The longest time the thread was seen to do nothing; infinite if it only polls; None if the kernel does not say.

    A look at native stacks, and the end of a wait that is tried again, wake a thread for a moment: what counts is whether
    it used the CPU.
    """
    looks = [(event.at, found) for event in seen if event.pid == pid and (found := find(event, thread)) is not None]
    looks = [(at, found) for at, found in looks if found.get("asleep_s") is not None]
    if not looks:
        return None
    began, (longest, cpu_ms) = looks[0][0] - looks[0][1]["asleep_s"], (looks[0][1]["asleep_s"], looks[0][1].get("cpu_ms"))
    for at, found in looks[1:]:
        if cpu_ms is None or found.get("cpu_ms") is None or found["cpu_ms"] - cpu_ms > IDLE_CPU_MS:
            began, cpu_ms = at - found["asleep_s"], found.get("cpu_ms")
        longest = max(longest, at - began, found["asleep_s"])
    return float("inf") if longest < LONG_S and _polls([found for _, found in looks]) else float(longest)


def find(event: ThreadsSeen, thread: int) -> dict[str, Any] | None:
    return next((each for each in event.threads if each.get("id") == thread), None)


def _polls(looks: list[dict[str, Any]]) -> bool:
    """Whether it woke between all the looks, and each time for next to nothing. Once is not enough: a look at native stacks
    wakes a thread too."""
    if len(looks) < MIN_LOOKS or any(look.get("runs") is None or look.get("cpu_ms") is None for look in looks):
        return False
    if any(later["runs"] <= earlier["runs"] for earlier, later in pairwise(looks)):
        return False
    return bool((looks[-1]["cpu_ms"] - looks[0]["cpu_ms"]) / (looks[-1]["runs"] - looks[0]["runs"]) < POLL_CPU_MS)


def is_standing(seconds: float | None, min_s: float = LONG_S) -> bool:
    """Whether a thread that has stood for so long may be called still. What is not known is not held against it."""
    return seconds is None or seconds >= min_s


def find_sleep_call(seen: Iterable[ThreadsSeen], pid: int, thread: int) -> tuple[str | None, str | None, str]:
    """The system call that it sleeps in, what that waits on, and the thread's name for the kernel:
    ('recvfrom', 'a connection to 10.0.0.7:443', 'python')."""
    for event in seen:  # the first: a look at native stacks interrupts the call, and then it has another name
        look = find(event, thread) if event.pid == pid else None
        if look is not None and look.get("call") not in (None, "running"):
            return str(look["call"]), look.get("on"), str(look.get("name") or "")
    return None, None, ""


def measure_worked_ms(seen: Iterable[ThreadsSeen], pid: int, thread: int) -> float | None:
    """CPU that the thread has used between the first and the last look; None if not told."""
    looks = [look for event in seen if event.pid == pid and (look := find(event, thread)) is not None]
    if not looks or looks[0].get("cpu_ms") is None or looks[-1].get("cpu_ms") is None:
        return None
    return float(looks[-1]["cpu_ms"] - looks[0]["cpu_ms"])
