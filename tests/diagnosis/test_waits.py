"""waits: what a thread waits for, in words, from its innermost frames or from the kernel."""

from __future__ import annotations

import pytest

from tests.diagnosis.builders import lib, native, py, thread
from unstall.diagnosis.waits import waits_for
from unstall.journal.events import Frame

STDLIB = "/usr/lib/python3.11"
USER = py("loader.py", "fetch", 57)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([py(f"{STDLIB}/socket.py", "readinto")], "the network"),
        ([py(f"{STDLIB}/threading.py", "Condition.wait"), py(f"{STDLIB}/queue.py", "Queue.get")], "a queue"),
        ([py(f"{STDLIB}/threading.py", "Condition.wait"), py(f"{STDLIB}/queue.py", "Queue.put")], "room in a queue"),
        ([py(f"{STDLIB}/threading.py", "Thread.join")], "a thread to end"),
        ([py(f"{STDLIB}/multiprocessing/pool.py", "ApplyResult.wait")], "a pool of worker processes"),
        ([native("recv", "libc.so.6"), native("sock_recv", "libpython3.11.so")], "the network"),
        ([native("clock_nanosleep", "libc.so.6"), native("time_sleep", "libpython3.11.so")], "a sleep to end"),
        ([native("PyThread_acquire_lock_timed", "libpython3.11.so")], "a lock"),
        ([native("pthread_cond_wait", "libc.so.6")], None),
        ([], None),
    ],
)
def test_from_the_innermost_frames(frames: list[Frame], words: str | None) -> None:
    assert waits_for(thread(*frames, USER)) == words


def test_from_the_system_call_where_the_stack_says_nothing() -> None:
    assert waits_for(thread(USER), call="flock") == "a lock on a file"
    assert waits_for(thread(USER), call="futex") is None


def test_what_python_says_is_narrower_than_the_system_call() -> None:
    assert (
        waits_for(thread(py(f"{STDLIB}/multiprocessing/queues.py", "Queue.get"), USER), call="read")
        == "a queue between processes"
    )


def test_what_called_the_user_is_not_what_he_waits_in() -> None:
    called_by_pool = thread(USER, py(f"{STDLIB}/concurrent/futures/thread.py", "run"), lib("keras/src/x.py", "fit"))
    assert waits_for(called_by_pool) is None
