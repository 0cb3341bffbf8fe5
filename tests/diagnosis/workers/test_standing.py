"""Who is named, of workers that stand still together, and of workers that ended one after the other; and when nobody is."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import unstall
from unstall.diagnosis.workers.blocker import WAITING, End, Look, find_awaited, find_first_failure, find_stopped, is_waiting

WAITS = Look(0, state="S", phase="train", steps_done=12, silent_s=9.0, waits_for_others=True)


def others(*changes: dict[str, Any]) -> list[Look]:
    """Three workers that wait, each changed so."""
    return [replace(WAITS, worker=number, **change) for number, change in enumerate(changes)]


@pytest.mark.parametrize(
    ("change", "how", "why"),
    [
        ({"state": "T"}, "stopped", "stopped"),
        ({"state": "D"}, "stands still", "a disk or a device"),
        ({"waits_for_input": True}, "stands still", "its input"),
        ({"waits_for_others": False}, "stands still", "it is elsewhere"),
        ({"steps_done": 11}, "stands still", "fewer steps"),
    ],
)
def test_the_one_that_differs_is_named_with_what_tells_it_apart(change: dict[str, Any], how: str, why: str) -> None:
    looks = others({}, change, {})
    named = find_stopped(looks) or find_awaited(looks)
    assert named is not None
    assert (named.worker, named.how) == (1, how) and why in named.why


def test_where_nothing_tells_them_apart_nobody_is_named() -> None:
    assert find_awaited(others({}, {}, {})) is None
    assert find_awaited(others({"steps_done": 11}, {"steps_done": 11}, {})) is None
    assert find_awaited(others({"waits_for_others": None}, {"waits_for_others": None})) is None


def test_while_one_computes_nobody_stands_still() -> None:
    """It may be compiling, for minutes, when another has long done so."""
    assert find_awaited(others({}, {"is_busy": True, "waits_for_others": False, "steps_done": 0}, {})) is None


def test_one_alone_holds_nobody_up() -> None:
    assert find_awaited(others({"waits_for_others": False})) is None


def test_of_two_only_one_of_whom_was_seen_the_one_that_waits_is_not_named() -> None:
    named = find_awaited(others({}, {"waits_for_others": None, "steps_done": 10}))
    assert named is not None and named.worker == 1


def test_a_stack_tells_who_waits_for_others() -> None:
    reading = [("/x/keras/src/backend.py", "convert_to_numpy"), ("/x/unstall/training/step.py", "Told.read"), ("/x/t.py", "main")]
    assert is_waiting(reading)
    assert is_waiting([("/x/unstall/scale/company.py", "_get")])
    assert is_waiting([("/x/unstall/training/step/train_step_jax.py", "DistributedJaxTrainStep.exchange_requests")])
    assert not is_waiting([("/x/unstall/training/step/train_step_jax.py", "DistributedJaxTrainStep.__init__")])
    assert not is_waiting([("/x/unstall/training/step.py", "Step.__call__"), ("/x/unstall/training/trainer.py", "learn_batch")])


@pytest.mark.parametrize(("file", "function"), WAITING)
def test_where_a_worker_waits_is_there_under_its_name_of_today(file: str, function: str) -> None:
    source = (Path(unstall.__file__).parents[1] / file).read_text(encoding="utf-8")
    assert not function or f"def {function}(" in source


# --- endings ---


def test_a_worker_that_was_killed_is_to_blame_though_another_noticed_first() -> None:
    ends = [End(0, at=10.0, exit_code=79), End(1, at=10.1, signal=signal.SIGKILL)]
    assert find_first_failure(ends) == 1


def test_the_first_worker_tells_that_not_all_was_kept_though_others_are_done() -> None:
    assert find_first_failure([End(0, at=10.0, exit_code=81), End(1, at=9.0, exit_code=0)]) == 0


def test_a_framework_that_ends_a_process_for_want_of_others_is_not_the_first_to_fail() -> None:
    assert find_first_failure([End(0, at=10.0, signal=signal.SIGABRT), End(1, at=10.5, exit_code=76)]) == 1
    assert find_first_failure([End(0, at=10.0, signal=signal.SIGABRT), End(1, at=9.0, exit_code=79)]) == 0


def test_one_that_we_have_ended_ourselves_is_never_to_blame_beside_another() -> None:
    assert find_first_failure([End(0, at=1.0, signal=signal.SIGKILL, is_our_doing=True), End(1, at=2.0, exit_code=1)]) == 1


def test_what_befalls_all_alike_is_told_of_the_first() -> None:
    assert find_first_failure([End(0, at=10.2, exit_code=78), End(1, at=10.0, exit_code=78)]) == 0


def test_a_user_s_mistake_and_memory_come_before_who_was_only_asked_to_end() -> None:
    assert find_first_failure([End(0, at=1.0, exit_code=75), End(1, at=2.0, exit_code=2)]) == 1
