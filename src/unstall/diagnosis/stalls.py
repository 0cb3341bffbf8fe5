"""The stall that a journal ends in, if it does, with the stack samples taken during it."""

from __future__ import annotations

from dataclasses import dataclass

from unstall.diagnosis.verdict import Evidence
from unstall.journal.events import HostSampled, StackSampled, StallBegan, StallEnded
from unstall.journal.reader import Journal

BUSY_CORES = 0.25  # a process tree that uses more is working, however slowly


@dataclass(frozen=True)
class Stall:
    """From the last sign of progress until now. `samples` are main-process stacks taken in it, oldest first."""

    began: StallBegan
    seconds: float
    samples: tuple[StackSampled, ...]
    children: tuple[StackSampled, ...]  # stacks of child processes
    hosts: tuple[HostSampled, ...]

    @property
    def cpu_cores(self) -> float | None:
        """Busy cores of the whole process tree during the stall; None if it was not measured."""
        measured = [host for host in self.hosts if host.interval_s > 0]
        total = sum(host.interval_s for host in measured)
        return sum(host.cpu_cores * host.interval_s for host in measured) / total if total else None

    @property
    def is_busy(self) -> bool:
        cores = self.cpu_cores
        return cores is not None and cores >= BUSY_CORES

    @property
    def native(self) -> StackSampled | None:
        """The latest sample with native frames."""
        return next((sample for sample in reversed(self.samples) if sample.native), None)

    def lateness(self) -> Evidence:
        """How late this is against the run's own history."""
        usual = self.began.usual_s
        if usual:
            times = f"{self.seconds / usual:,.0f} times as long"
            claim = f"steps before took {_seconds(usual)}; this one {_seconds(self.seconds)}, {times}"
        else:
            claim = f"nothing has moved for {_seconds(self.seconds)}"
        return Evidence(claim, self.seconds, self.began.limit_s, (self.began,))

    def idleness(self) -> Evidence | None:
        cores = self.cpu_cores
        if cores is None:
            return None
        return Evidence(f"the program uses {cores * 100:.0f} % of one core meanwhile", cores, BUSY_CORES, self.hosts)


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 10 else f"{value:.2g} s"


def current_stall(journal: Journal) -> Stall | None:
    """The stall that goes on at the journal's end. A stall that ended by itself is none."""
    began = journal.last(StallBegan)
    ended = journal.last(StallEnded)
    if began is None or (ended is not None and ended.at >= began.at):
        return None
    samples = journal.since(StackSampled, began.since)
    return Stall(
        began=began,
        seconds=max(0.0, journal.now - began.since),
        samples=tuple(sample for sample in samples if sample.main),
        children=tuple(sample for sample in samples if not sample.main),
        hosts=tuple(journal.since(HostSampled, began.since)),
    )
