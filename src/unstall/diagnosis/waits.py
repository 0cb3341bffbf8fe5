"""What a thread waits for, in words, from the innermost frames of its stack."""

from __future__ import annotations

from unstall.diagnosis.stacks import is_user_file
from unstall.journal.events import Frame, ThreadStack

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
    "flock": "a lock on a file",
    "fcntl": "a lock on a file",
    "fcntl64": "a lock on a file",
    "fsync": "a disk",
    "wait4": "another process to end",
    "waitpid": "another process to end",
    "waitid": "another process to end",
    "PyThread_acquire_lock_timed": "a lock",
}
LOOKED_AT = 6


def waits_for(thread: ThreadStack, call: str | None = None) -> str | None:
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
