"""Keeps the training safe from its watcher: a probe that fails is journalled, and switched off when it fails again.

`shield.call(name, function, …)` returns what the function returns, or None if it failed. A probe that costs more than its
share of the run's time is skipped until it has earned it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from unstall.base.errors import attempt
from unstall.journal.events import Event, ProbeFailed

FAILURES_ALLOWED = 3
COST_SHARE = 0.001  # of the run's time, for each probe that asks for a budget
COST_ALLOWANCE_S = 0.25  # what a probe may cost before its share counts
QUICK_S = 0.001  # a probe that took less last time: asking how long it waited for a core would cost as much as the probe


def _ignore(error: Exception) -> None:
    """That a probe failed cannot be told: the error has no text, say, or there is no memory left."""


def _queued_s() -> float:
    """How long this thread has waited for a core so far, while others had it: on a busy machine that is most of the time that a
    probe takes, and the program, which waits as much for its own work, does not lose it to the probe. 0 where it is not known."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


class Shield:
    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._failures: dict[str, int] = {}
        self._off: set[str] = set()
        self._cost_s: dict[str, float] = {}
        self._quick: set[str] = set()
        self._began = time.monotonic()

    def call(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if name in self._off:
            return None
        try:
            return function(*args, **kwargs)
        except Exception as error:  # the one place inside the program where everything is caught: nothing of ours may reach it
            result = error
            try:
                attempt(lambda: self.failed(name, result), _ignore)
            except RecursionError:  # the program itself is at the end of its stack: there is no room to tell of it
                pass
            return None

    def within_budget(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Like call, for probes that cost more than microseconds: skipped while they are over their share."""
        began = time.monotonic()
        if self._cost_s.get(name, 0.0) > COST_ALLOWANCE_S + COST_SHARE * (began - self._began):
            return None
        is_quick = name in self._quick
        queued_s = 0.0 if is_quick else _queued_s()
        result = self.call(name, function, *args, **kwargs)
        took_s = time.monotonic() - began
        (self._quick.add if took_s < QUICK_S else self._quick.discard)(name)
        cost_s = took_s if is_quick else took_s - (_queued_s() - queued_s)
        self._cost_s[name] = self._cost_s.get(name, 0.0) + max(0.0, cost_s)
        return result

    def failed(self, name: str, error: BaseException) -> None:
        count = self._failures.get(name, 0) + 1
        self._failures[name] = count
        if count >= FAILURES_ALLOWED:
            self._off.add(name)
        if count <= FAILURES_ALLOWED:
            text = f"{type(error).__name__}: {error}"[:500]
            self._emit(ProbeFailed(at=time.time(), probe=name, error=text, disabled=name in self._off))
