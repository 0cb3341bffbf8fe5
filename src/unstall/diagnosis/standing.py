"""For how long a thread has stood still, from what the kernel says of when it last ran.

A thread that waits in a loop (sleep, look, sleep) wakes all the time and yet does nothing: it polls. It is told from one
that works by what a wake-up costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unstall.journal.events import ThreadsSeen

POLL_CPU_MS = 0.15  # a wake-up that costs less CPU has done no work: the steps of all frameworks cost more
FEWEST_POLLS = 2
LONG_S = 5.0  # a thread that has slept so long without waking, or that polls, stands still


def standing_s(seen: Iterable[ThreadsSeen], pid: int, thread: int) -> float | None:
    """The longest time the thread was seen asleep; infinite if it only polls; None if the kernel does not say.

    A look at native stacks wakes every thread for a moment, hence the longest, not the last.
    """
    looks = [found for event in seen if event.pid == pid and (found := find(event, thread)) is not None]
    asleep = [look["asleep_s"] for look in looks if look.get("asleep_s") is not None]
    if not asleep:
        return None
    return float("inf") if _polls(looks) else float(max(asleep))


def find(event: ThreadsSeen, thread: int) -> dict[str, Any] | None:
    return next((each for each in event.threads if each.get("id") == thread), None)


def _polls(looks: list[dict[str, Any]]) -> bool:
    """Whether it woke between the looks, and each time for next to nothing."""
    first, last = looks[0], looks[-1]
    if first.get("runs") is None or last.get("runs") is None or first.get("cpu_ms") is None or last.get("cpu_ms") is None:
        return False
    runs = last["runs"] - first["runs"]
    return bool(runs >= FEWEST_POLLS and (last["cpu_ms"] - first["cpu_ms"]) / runs < POLL_CPU_MS)


def stands(seconds: float | None, least_s: float = LONG_S) -> bool:
    """Whether a thread that has stood for so long may be called still. What is not known is not held against it."""
    return seconds is None or seconds >= least_s


def asleep_in(seen: Iterable[ThreadsSeen], pid: int, thread: int) -> tuple[str | None, str | None, str]:
    """The system call that it sleeps in, what that waits on, and the thread's name for the kernel:
    ('recvfrom', 'a connection to 10.0.0.7:443', 'python')."""
    for event in reversed(list(seen)):
        look = find(event, thread) if event.pid == pid else None
        if look is not None and look.get("call"):
            return str(look["call"]), look.get("on"), str(look.get("name") or "")
    return None, None, ""
