"""Workers of one training, in few words: for tests that read as specifications."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import T0, journal, lib, main, py, steps, stuck, three
from unstall.diagnosis.workers.members import Member, RunGroup
from unstall.journal.events import Event, MachineSeen, MembershipSeen, RunStarted, StepsEnded
from unstall.journal.reader import Journal

COORDINATOR = "10.0.0.1:1234"
STEP = (py("train.py", "average_gradients", 36), py("train.py", "<module>", 72))
REDUCES = main(lib("torch/distributed/distributed_c10d.py", "all_reduce"), *STEP)
JOINS = main(lib("torch/distributed/distributed_c10d.py", "init_process_group"), py("train.py", "<module>", 20))
LOADS = main(py("/usr/lib/python3.11/socket.py", "readinto"), py("loader.py", "rows", 12), py("train.py", "<module>", 70))


def rank_seen(worker: int | None = 0, of: int | None = 2, coordinator: str = COORDINATOR, **more: Any) -> MembershipSeen:
    return MembershipSeen(at=T0, pid=1, source="RANK", worker=worker, of=of, coordinator=coordinator, **more)


def machine(worker: int | None = 0, **more: Any) -> MachineSeen:
    """Each worker on a machine of its own."""
    facts = {"hostname": f"host-{worker}", "boot_id": f"boot-{worker}", "addresses": [f"10.0.0.{(worker or 0) + 1}"], **more}
    return MachineSeen(at=T0, **facts)


def member(
    worker: int | None,
    result: Journal | None = None,
    of: int | None = 2,
    coordinator: str = COORDINATOR,
    on: MachineSeen | None = None,
    **more: Any,
) -> Member:
    kept = result if result is not None else trains()
    place = rank_seen(worker, of, coordinator)
    kept.extend([place, on or machine(worker)])
    return Member(f"run-{worker}", kept, place, **more)


def run_group(*members: Member) -> RunGroup:
    return RunGroup(members)


def trains(*events: Event, now: float = 112) -> Journal:
    started = RunStarted(at=T0, mode="run", command=["python", "train.py"], folder="/home/user/project", pid=1)
    return journal(started, steps(300, 380, at=now - 1), *events, now=now)


def waits(**stall: Any) -> Journal:
    """In the collective of step 381, for twelve seconds."""
    return stuck(*three(REDUCES), **stall)


def joins(seconds: float = 70.0) -> Journal:
    now = 100 + seconds
    return stuck(*three(JOINS), phase="", step=-1, now=now)


def loads(**stall: Any) -> Journal:
    """In the same step, and still waiting for its input."""
    return stuck(*three(LOADS), **stall)


def paced(
    groups: int = 40,
    each_s: float = 0.1,
    wait_s: float = 0.002,
    between_s: float = 0.001,
    ahead_s: float = 0.0,
    jolts: bool = True,
    slow_from: int | None = None,
    slow_wait_s: float = 0.0,
) -> list[Event]:
    """Groups of ten steps in lock-step. Every fifth group takes half a second longer, on all workers alike. A clock may be ahead,
    and from a group on the input may take longer; the step is as long on all."""
    rows: list[Event] = []
    at = 0.0
    for number in range(groups):
        long_s = 10 * each_s + (0.5 if jolts and number % 5 == 4 else 0.0)
        at += long_s
        wait = slow_wait_s if slow_from is not None and number >= slow_from else wait_s
        rows.append(
            StepsEnded(
                at=T0 + at + ahead_s, first=10 * number, last=10 * number + 9, seconds=long_s, busy_s=long_s - 10 * between_s,
                longest_s=each_s, wait_s=10 * wait, waited_steps=10,
            )
        )  # fmt: skip
    return rows
