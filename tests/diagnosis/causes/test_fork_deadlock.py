"""fork_deadlock: a forked child waits for threads or locks that only its parent has."""

from __future__ import annotations

import dataclasses

from tests.diagnosis.builders import T0, kernel, lib, main, py, sleeper, source, stuck, three
from unstall.diagnosis.causes import fork_deadlock
from unstall.diagnosis.findings import diagnose
from unstall.diagnosis.verdict import Certainty, Clear, Found, Unknown
from unstall.journal.events import ChildSeen, Frame, SampleFailed, ThreadStack

STDLIB = "/usr/lib/python3.11"
PARENT = main(
    py(f"{STDLIB}/threading.py", "Condition.wait"),
    py(f"{STDLIB}/multiprocessing/pool.py", "ApplyResult.wait"),
    py(f"{STDLIB}/multiprocessing/pool.py", "Pool.map"),
    py("train.py", "score_folds", 51),
    py("train.py", "<module>", 61),
)
FORK = (
    py(f"{STDLIB}/multiprocessing/pool.py", "worker"),
    py(f"{STDLIB}/multiprocessing/popen_fork.py", "Popen._launch"),
    py(f"{STDLIB}/multiprocessing/context.py", "BaseContext.Pool"),
    py("train.py", "score_folds", 50),
)
TENSORFLOW = (
    lib("tensorflow/python/eager/execute.py", "quick_execute"),
    lib("tensorflow/python/eager/context.py", "call_function"),
)


def child(*frames: Frame) -> ThreadStack:
    return {**main(*frames, *FORK), "id": 7}


IN_TENSORFLOW = child(*TENSORFLOW, py("train.py", "score_fold", 45))
FORKED = ChildSeen(at=T0 + 111, pid=7, parent_pid=1, forked=True, command=["python", "train.py"])
ASLEEP = kernel(sleeper(7, call="futex"), at=109, pid=7, main=False)


def test_found_where_tensorflow_is_used_in_a_forked_child() -> None:
    verdict = fork_deadlock.examine(stuck(*three(PARENT), *three(IN_TENSORFLOW, main=False, pid=7), FORKED, ASLEEP))
    assert isinstance(verdict, Found)
    assert verdict.certainty is Certainty.CERTAIN
    assert verdict.where == "train.py:45"
    assert "threads of TensorFlow" in verdict.summary
    assert "forked at train.py:50" in verdict.summary
    assert "Its parent process stands at train.py:51" in verdict.summary


def test_found_where_a_lock_came_locked_into_the_child_and_nothing_else_is_named() -> None:
    at_lock = child(py("train.py", "augment", 38))
    takes = source("train.py", 38, awaits=["statistics_lock"])
    journal = stuck(*three(PARENT), *three(at_lock, main=False, pid=7), FORKED, ASLEEP, takes)
    verdict = fork_deadlock.examine(journal)
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:38"
    assert "which most likely was taken when it was forked" in verdict.summary
    assert [finding.cause for finding in diagnose(journal).findings] == ["fork_deadlock"]


def test_found_at_the_lock_of_logging() -> None:
    logs = child(
        py(f"{STDLIB}/logging/__init__.py", "Handler.acquire"),
        py(f"{STDLIB}/logging/__init__.py", "Logger.info"),
        py("train.py", "work", 12),
    )
    verdict = fork_deadlock.examine(stuck(*three(PARENT), *three(logs, main=False, pid=7), FORKED, ASLEEP))
    assert isinstance(verdict, Found)
    assert verdict.where == "train.py:12"


def test_found_by_the_stack_where_the_kernel_does_not_tell_a_fork() -> None:
    untold = dataclasses.replace(FORKED, forked=None)
    verdict = fork_deadlock.examine(stuck(*three(PARENT), *three(IN_TENSORFLOW, main=False, pid=7), untold, ASLEEP))
    assert isinstance(verdict, Found)


def test_clear_for_a_worker_at_rest() -> None:
    waits_for_work = child(
        py(f"{STDLIB}/multiprocessing/synchronize.py", "__enter__"), py(f"{STDLIB}/multiprocessing/queues.py", "get")
    )
    assert isinstance(
        fork_deadlock.examine(stuck(*three(PARENT), *three(waits_for_work, main=False, pid=7), FORKED, ASLEEP)), Clear
    )


def test_clear_for_a_child_that_was_started_anew() -> None:
    spawned = dataclasses.replace(FORKED, forked=False)
    restarted = {**main(*TENSORFLOW, py("train.py", "score_fold", 45)), "id": 7}
    assert isinstance(fork_deadlock.examine(stuck(*three(PARENT), *three(restarted, main=False, pid=7), spawned, ASLEEP)), Clear)  # type: ignore[arg-type]


def test_clear_where_the_child_waits_for_the_network_or_sleeps() -> None:
    for call in ("recvfrom", "clock_nanosleep", "read"):
        waits = kernel(sleeper(7, call=call), at=109, pid=7, main=False)
        outside = child(py("train.py", "download", 9))
        journal = stuck(*three(PARENT), *three(outside, main=False, pid=7), FORKED, waits)
        assert isinstance(fork_deadlock.examine(journal), Clear), call


def test_clear_when_the_program_works_or_goes_on() -> None:
    samples = (*three(PARENT), *three(IN_TENSORFLOW, main=False, pid=7), FORKED, ASLEEP)
    assert isinstance(fork_deadlock.examine(stuck(*samples, cpu=0.8)), Clear)


def test_unknown_without_stacks() -> None:
    refused = SampleFailed(at=T0 + 109, signal="stacks", missing="the permission", fix="sudo")
    assert fork_deadlock.examine(stuck(refused)) == Unknown("the permission", "sudo")
