"""What a thread waits for, in words, from the innermost frames of its stack."""

from __future__ import annotations

from unstall.diagnosis.stacks import is_user_file
from unstall.journal.events import Frame, ThreadStack

# (part of the file, part of the function or "" for any, words). The first that fits from the innermost frame on.
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
    ("threading.py", "", "a lock"),
    ("gzip.py", "", "a file"),
    ("shutil.py", "", "a file"),
)
_NATIVE = (
    ("recv", "the network"),
    ("connect", "the network"),
    ("accept", "a connection"),
    ("poll", "a file or socket to become ready"),
    ("select", "a file or socket to become ready"),
    ("nanosleep", "a sleep to end"),
    ("PyThread_acquire_lock", "a lock"),
    ("futex", "a lock"),
    ("read", "a file or pipe"),
    ("open", "a file to open"),
)
LOOKED_AT = 6


def waits_for(thread: ThreadStack) -> str | None:
    """In words, or None if nothing says so. Stops at the user's own frame: what lies outside it is not what it waits in."""
    for frame in thread["frames"][: LOOKED_AT * 2]:
        if frame["module"]:
            continue
        if is_user_file(frame["file"]):
            break
        words = _python_wait(frame)
        if words:
            return words
    for frame in thread["frames"][:LOOKED_AT]:
        if frame["module"]:
            for name, words in _NATIVE:
                if name in frame["function"]:
                    return words
    return None


def _python_wait(frame: Frame) -> str | None:
    for file, function, words in _WAITS:
        if file in frame["file"] and function in frame["function"]:
            return words
    return None
