"""One of several workers makes all of them slow: found among their journals by the rule of `worker_slow`, told with its stack.

It is only told. None is ended for it: the next process would have the same machine, the same cores and the same input, and what
was made since the newest checkpoint would be lost. One whose process gets no turn at all stands still, which is treated.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unstall.diagnosis.causes import worker_slow
from unstall.diagnosis.verdict import Found
from unstall.diagnosis.workers.members import Member, RunGroup
from unstall.diagnosis.workers.step_times import compute_step_s, find_slowdown, select_settled_groups
from unstall.journal.events import MembershipSeen, OthersMissed
from unstall.journal.reader import Journal

if TYPE_CHECKING:
    from unstall.supervisor.train.worker_monitor import WorkerMonitor

LOOK_EVERY_S, LOOK_CLOSELY_EVERY_S = 3.0, 1.5
STEADY = 2  # looks in a row that name the same worker
CLOSELY_S = 60.0  # that it is looked at closely for, when steps have become longer: by then it has shown, or will not
QUICKER = 0.8  # of the length that steps had, so long at most they take again when it has caught up


@dataclass(frozen=True)
class SlowWorker:
    monitor: WorkerMonitor
    found: Found
    reported_at: float

    @property
    def step_s(self) -> float:
        return float(self.found.details["step_s"])


class SlownessMonitor:
    """What is known of it, over the life of these workers."""

    def __init__(self, monitors: Sequence[WorkerMonitor]) -> None:
        self._monitors = monitors
        self._looked_at = 0.0  # monotonic, as all times here
        self._close_since: float | None = None
        self._named: list[int] = []  # by the newest looks, one after the other
        self.slow: SlowWorker | None = None  # that was told

    def look(self) -> SlowWorker | None:
        """One that is to be told now. When it has caught up, `slow` is None again."""
        now = time.monotonic()
        every_s = LOOK_EVERY_S if self._close_since is None else LOOK_CLOSELY_EVERY_S
        if now - self._looked_at < every_s or any(monitor.watch.stall is not None for monitor in self._monitors):
            return None
        self._looked_at = now
        self._look_closely(now)
        if self.slow is not None:
            self.slow = None if self._has_caught_up(self.slow) else self.slow
            return None
        verdict = worker_slow.examine_workers(RunGroup(tuple(_member(monitor) for monitor in self._monitors)))
        worker = verdict.details["workers"][0] if isinstance(verdict, Found) else None
        self._named = [] if worker is None else [*self._named[-STEADY:], worker]
        if not isinstance(verdict, Found) or len(self._named) < STEADY or len(set(self._named[-STEADY:])) > 1:
            return None
        self.slow = SlowWorker(next(monitor for monitor in self._monitors if monitor.who.rank == worker), verdict, now)
        return self.slow

    def _look_closely(self, now: float) -> None:
        """While steps are longer than they were: what shows why is looked at often, for a while."""
        is_longer = any(find_slowdown(select_settled_groups(monitor.watch.journal)) is not None for monitor in self._monitors)
        self._close_since = (self._close_since or now) if is_longer else None
        is_new = self._close_since is not None and now - self._close_since < CLOSELY_S
        for monitor in self._monitors:
            monitor.watch.is_suspected = is_new and self.slow is None

    def _has_caught_up(self, slow: SlowWorker) -> bool:
        """By the length of steps, which is why it was told; a rule that falls silent shows nothing."""
        groups = select_settled_groups(slow.monitor.watch.journal)[-STEADY:]
        return len(groups) == STEADY and all(compute_step_s(group) <= QUICKER * slow.step_s for group in groups)


def _member(monitor: WorkerMonitor) -> Member:
    return Member(monitor.who.words, monitor.watch.journal, monitor.watch.journal.last(MembershipSeen))


# Of which workers of other machines nothing is heard any more, by what a worker of this machine tells of them
# (`OthersMissed`).
#
# It is said once, and again when they are heard again. Nobody is ended for it: the framework does that when it has been so
# for longer, and until then the line may come back. Those of this machine are left out: whoever watches them knows better.


HOW = "is silent"


@dataclass(frozen=True)
class SilenceReport:
    """What is new."""

    silent: dict[int, str]  # number of a worker: in a sentence
    again: tuple[int, ...]  # numbers of those that are heard again
    seconds: float = 0.0  # since the last sign of life
    of: int = 1


class SilenceMonitor:
    def __init__(self, ours: set[int]) -> None:
        self._ours = ours
        self._silent: set[int] = set()  # that was said of
        self._until = 0.0  # wall clock: up to what was told

    def look(self, journal: Journal) -> SilenceReport | None:
        """What is to be said now, if anything."""
        event = journal.last(OthersMissed)
        if event is None or event.at <= self._until:
            return None
        self._until = event.at
        named = {worker: host for worker, host in zip(event.silent, event.hosts, strict=False) if worker not in self._ours}
        fresh = {worker: _sentence(worker, host, event) for worker, host in named.items() if worker not in self._silent}
        again = tuple(sorted(self._silent - set(named) - set(event.gone)))
        self._silent = set(named)
        return SilenceReport(fresh, again, event.seconds, event.of) if fresh or again else None


def _sentence(worker: int, host: str, event: OthersMissed) -> str:
    why = "its machine is down, or the line to it is cut"
    if worker not in event.unreached:
        why = "its machine answers, and its process does not: it is stopped, or kept from running"
    return f"nothing was heard of worker {worker} of {event.of} ({host}) for {event.seconds:.0f} s, and no step was made: {why}"


def compute_gone_s(journal: Journal) -> float:
    """For how long it has been known that the process of another is no more; 0: of none."""
    since = None
    for event in reversed(journal.of(OthersMissed)):
        if not event.gone:
            break
        since = event.at
    return max(0.001, journal.now - since) if since is not None else 0.0
