"""A plan that fits, one that needs changes, and one that nothing helps."""

from __future__ import annotations

from unstall.planning.memory import MemoryPlan
from unstall.planning.memory.devices import HostNeed, find_device
from unstall.planning.memory.memory_plan import Choice, FitAttempt
from unstall.planning.memory.messages import Answer
from unstall.planning.preflight.check import CheckError, CheckOk, CheckWarning
from unstall.planning.preflight.checks.memory_plan import judge

GIB = 2**30
WANTED = Choice("float32", False, 16)


def plan(*tried: FitAttempt) -> MemoryPlan:
    """For a card of 80 GiB."""
    answer = Answer(need=tried[-1].need_bytes, weights=0, gradients=0, optimizer=0, input=0, activations=0, state=0)
    return MemoryPlan(
        device=find_device("a100"), backend="jax", way="compiled", asked_of="jax", error=0.02, usable_bytes=70 * GIB, usable_why="",
        wanted=WANTED, tried=tried, batch_size=16, training=answer, evaluation=answer, evaluation_batch=16, largest_micro_batch=None,
        host=HostNeed(0, 0, 0, 0, 0, 0, 0, 0),
    )  # fmt: skip


def test_a_step_that_fits_as_wanted_fits() -> None:
    found = judge(plan(FitAttempt("as wanted", WANTED, 20 * GIB, True)))
    assert isinstance(found, CheckOk) and "20 GiB of 68.6 GiB" in found.reason


def test_a_step_that_fits_with_changes_warns_and_hands_them_on() -> None:
    found = judge(
        plan(
            FitAttempt("as wanted", WANTED, 90 * GIB, False),
            FitAttempt("bfloat16", Choice("bfloat16", False, 16), 50 * GIB, True),
        )
    )
    assert isinstance(found, CheckWarning)
    assert found.facts["changes"] == {"precision": "bfloat16"} and "50 GiB with precision = bfloat16" in found.reason


def test_a_step_that_nothing_helps_refuses() -> None:
    assert isinstance(judge(plan(FitAttempt("micro-batch", Choice("bfloat16", True, 1), 90 * GIB, False))), CheckError)
