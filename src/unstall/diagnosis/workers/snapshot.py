"""What is kept of one worker of very many, from its newest events: a few numbers, and never its stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from unstall.journal.events import (
    ErrorRaised,
    Event,
    HostSampled,
    MachineSeen,
    MembershipSeen,
    PhaseBegan,
    PhaseEnded,
    ProcessEnded,
    RunStarted,
    StallBegan,
    StallEnded,
    StepsEnded,
    VerdictReached,
)

WAITING_VERDICTS = frozenset({"collective_stuck", "worker_missing"})  # of a worker that waits for others


@dataclass(slots=True)
class WorkerSnapshot:
    run: str
    worker: int | None = None
    of: int | None = None
    cluster: str = ""  # by which those that belong together are known
    host: str = ""
    began_at: float = 0.0
    last_at: float = 0.0  # of its newest event, by its own clock
    heard_at: float = 0.0  # when it was last heard of, by the clock of whoever keeps this
    late_s: float = 0.0  # by which all that it tells may come later than it was written: through a bucket, say
    step: int | None = None  # done
    phase: str = ""
    stall: StallBegan | None = None
    verdicts: dict[str, str] = field(default_factory=dict)  # reached in this stall: the cause, and where
    ended: str = ""  # done | failed | killed
    ended_at: float = 0.0

    @property
    def name(self) -> str:
        return f"worker {self.worker}" if self.worker is not None else self.run

    @property
    def waits_for_others(self) -> bool:
        """As its own watcher says."""
        return self.stall is not None and not WAITING_VERDICTS.isdisjoint(self.verdicts)

    def take(self, events: Iterable[Event], heard_at: float) -> None:
        for event in events:
            taken = _TAKEN.get(type(event))
            if taken is not None:
                taken(self, event)
            self.last_at = max(self.last_at, event.at)
            self.heard_at = heard_at

    def _started(self, event: RunStarted) -> None:
        self.began_at = event.at
        self.stall, self.ended, self.step, self.phase = None, "", None, ""

    def _member(self, event: MembershipSeen) -> None:
        self.worker, self.of = event.worker, event.of
        self.cluster = event.coordinator or ",".join(event.addresses)

    def _machine(self, event: MachineSeen) -> None:
        self.host = event.hostname

    def _steps(self, event: StepsEnded) -> None:
        if event.phase == "train":
            self.step = event.last + 1

    def _phase_began(self, event: PhaseBegan) -> None:
        self.phase = event.phase

    def _phase_ended(self, event: PhaseEnded) -> None:
        if self.phase == event.phase:
            self.phase = ""

    def _stalled(self, event: StallBegan) -> None:
        self.stall = event
        self.verdicts = {}

    def _moved(self, event: StallEnded) -> None:
        self.stall = None

    def _verdict(self, event: VerdictReached) -> None:
        if self.stall is not None:
            self.verdicts[event.cause] = event.where or ""

    def _error(self, event: ErrorRaised) -> None:
        if event.fatal and event.thread in {"", "MainThread"}:
            self.ended, self.ended_at = "failed", event.at

    def _ended(self, event: ProcessEnded) -> None:
        if self.stall is not None and event.stopped_by_us:
            return  # it was where it stood
        how = "killed" if event.signal is not None else "failed" if event.exit_code else self.ended or "done"
        self.ended, self.ended_at = how, event.at


_TAKEN: dict[type[Event], Callable[[WorkerSnapshot, Any], None]] = {
    RunStarted: WorkerSnapshot._started,
    MembershipSeen: WorkerSnapshot._member,
    MachineSeen: WorkerSnapshot._machine,
    StepsEnded: WorkerSnapshot._steps,
    PhaseBegan: WorkerSnapshot._phase_began,
    PhaseEnded: WorkerSnapshot._phase_ended,
    StallBegan: WorkerSnapshot._stalled,
    StallEnded: WorkerSnapshot._moved,
    VerdictReached: WorkerSnapshot._verdict,
    ErrorRaised: WorkerSnapshot._error,
    ProcessEnded: WorkerSnapshot._ended,
    HostSampled: lambda snapshot, event: None,  # only that it was heard of
}
KINDS = frozenset(kind.__name__.encode() for kind in _TAKEN)


def describe_worker(snapshot: WorkerSnapshot) -> dict[str, Any] | None:
    """What a row says of it, before it is put together with others."""
    if snapshot.of is None or snapshot.of < 2:
        return None
    return {
        "rank": snapshot.worker, "world_size": snapshot.of, "cluster": snapshot.cluster, "group": None,
        "blocks": None, "blocked_by": None,
    }  # fmt: skip
