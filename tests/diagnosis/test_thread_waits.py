"""waits: what a thread waits for, in words, from its innermost frames or from the kernel."""

from __future__ import annotations

import math

import pytest

from tests.diagnosis.builders import kernel, lib, native, py, sleeper, thread
from unstall.diagnosis.thread_waits import (
    LONG_S,
    find_awaited_thing,
    find_sleep_call,
    find_wait,
    is_standing,
    measure_standing_s,
    measure_worked_ms,
)
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
    assert find_wait(thread(*frames, USER)) == words


def test_what_a_loop_of_the_framework_looks_for() -> None:
    inner = lib("tensorflow/python/training/checkpoint_utils.py", "wait_for_new_checkpoint", 150)
    outer = lib("tensorflow/python/training/checkpoint_utils.py", "checkpoints_iterator", 207)
    assert find_awaited_thing(thread(inner, outer, USER)) == "a new checkpoint"
    assert find_awaited_thing(thread(outer, USER)) is None
    assert find_awaited_thing(thread(USER, inner, outer)) is None  # the user's own code runs, which was called from there


def test_from_the_system_call_where_the_stack_says_nothing() -> None:
    assert find_wait(thread(USER), call="flock") == "a lock on a file"
    assert find_wait(thread(USER), call="futex") is None


def test_what_python_says_is_narrower_than_the_system_call() -> None:
    assert (
        find_wait(thread(py(f"{STDLIB}/multiprocessing/queues.py", "Queue.get"), USER), call="read")
        == "a queue between processes"
    )


def test_what_called_the_user_is_not_what_he_waits_in() -> None:
    called_by_pool = thread(USER, py(f"{STDLIB}/concurrent/futures/thread.py", "run"), lib("keras/src/x.py", "fit"))
    assert find_wait(called_by_pool) is None


# standing: how long a thread has done nothing, from what the kernel says of it.


def test_a_thread_that_sleeps_has_stood_since_it_last_ran() -> None:
    looks = [kernel(sleeper(asleep_s=30.0), at=100), kernel(sleeper(asleep_s=31.5), at=101.5)]
    stood = measure_standing_s(looks, pid=1, thread=1)
    assert stood == pytest.approx(31.5)
    assert is_standing(stood)


def test_a_wait_that_has_only_begun_is_none() -> None:
    looks = [kernel(sleeper(asleep_s=1.0), at=100), kernel(sleeper(asleep_s=2.5), at=101.5)]
    assert not is_standing(measure_standing_s(looks, pid=1, thread=1))


def test_a_thread_that_works_between_the_looks_has_not_stood() -> None:
    looks = [
        kernel(sleeper(asleep_s=0.1, runs=10, cpu_ms=50.0), at=100),
        kernel(sleeper(asleep_s=0.2, runs=30, cpu_ms=90.0), at=108),
    ]
    assert measure_standing_s(looks, pid=1, thread=1) == pytest.approx(0.2, abs=1e-3)
    assert measure_worked_ms(looks, pid=1, thread=1) == 40.0


def test_a_thread_that_was_woken_for_a_moment_stands_all_the_same() -> None:
    """As by a look at its native stack, or by the end of a wait that it tries again."""
    looks = [
        kernel(sleeper(asleep_s=4.0, runs=10, cpu_ms=50.0), at=100),
        kernel(sleeper(asleep_s=0.3, runs=11, cpu_ms=50.2), at=102),
    ]
    assert measure_standing_s(looks, pid=1, thread=1) == pytest.approx(6.0)


def test_a_thread_that_looks_and_sleeps_in_turns_stands() -> None:
    looks = [
        kernel(sleeper(asleep_s=0.2, runs=10 + 2 * number, cpu_ms=50 + 0.2 * number), at=100 + number) for number in range(4)
    ]
    assert measure_standing_s(looks, pid=1, thread=1) == math.inf


def test_one_that_was_woken_only_once_does_not_poll() -> None:
    """As by a look at its native stack, between the second and the third."""
    looks = [
        kernel(sleeper(asleep_s=1.0, runs=10, cpu_ms=50.0), at=100),
        kernel(sleeper(asleep_s=1.6, runs=10, cpu_ms=50.0), at=100.6),
        kernel(sleeper(asleep_s=0.5, runs=13, cpu_ms=50.1), at=102),
    ]
    assert measure_standing_s(looks, pid=1, thread=1) == pytest.approx(3.0)


def test_what_the_kernel_does_not_tell_is_not_held_against_a_thread() -> None:
    assert measure_standing_s([], pid=1, thread=1) is None
    assert measure_standing_s([kernel(sleeper(asleep_s=None), at=1)], pid=1, thread=1) is None
    assert measure_standing_s([kernel(sleeper(asleep_s=9.0), at=1)], pid=2, thread=1) is None
    assert is_standing(None)
    assert is_standing(LONG_S)


def test_the_first_call_counts_since_a_native_look_interrupts_it() -> None:
    looks = [
        kernel(sleeper(call="running"), at=1),
        kernel(sleeper(call="recvfrom", on="a connection to 10.0.0.7:443"), at=2),
        kernel(sleeper(call="system call 219"), at=3),
    ]
    assert find_sleep_call(looks, pid=1, thread=1) == ("recvfrom", "a connection to 10.0.0.7:443", "python")
    assert find_sleep_call([], pid=1, thread=1) == (None, None, "")
