"""What the pipeline does with its time: counted by each worker for itself, told as an event now and then, and to a person."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields

from unstall.journal.events import InputMeasured
from unstall.probe.core import probe

REPORT_INTERVAL_S = 10.0
LATER_REPORT_INTERVAL_S = 30.0
LATER_AFTER_S = 300.0


@dataclass(slots=True)
class Tally:
    """Of one worker, or of all of them together. A worker writes to its own alone, so nothing is locked."""

    read_s: float = 0.0
    decode_s: float = 0.0
    augment_s: float = 0.0  # resizing, filling and colours
    read_bytes: int = 0
    examples: int = 0
    cache_hits: int = 0
    boxes_left_out: int = 0  # of no area, no class, not finite, or more than there is room for

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class InputMeasurement:
    """Since the iterator was made. Times of the workers are summed over all of them."""

    engine: str
    workers: int  # at most
    at_work: int  # of them, now: as many as help
    seconds: float
    batches: int
    examples: int
    read_s: float
    decode_s: float
    augment_s: float
    batch_s: float  # putting batches together and handing them out
    transfer_s: float  # on to the device, as far as whoever moves them tells
    wait_s: float  # that the consumer waited for a batch
    read_bytes: int
    ready_batches: int  # made and not yet taken
    max_ready_batches: int
    held_bytes: int  # of all batches made ahead or being made
    cache_bytes: int
    cache_hits: int
    boxes_left_out: int
    skipped: int
    replaced_workers: int

    def __str__(self) -> str:
        rate = self.examples / self.seconds if self.seconds else 0.0
        work = self.read_s + self.decode_s + self.augment_s or 1.0
        shares = ", ".join(f"{name} {getattr(self, f'{name}_s') / work:.0%}" for name in ("read", "decode", "augment"))
        lines = [
            f"{self.examples:,} examples in {self.seconds:.1f} s, {rate:.1f} each second; {self.engine}, {self.at_work} workers",
            f"of the workers' time: {shares}; the training waited {self.wait_s:.1f} s for batches",
            f"{self.ready_batches} of at most {self.max_ready_batches} batches ready, {self.held_bytes / 2**20:.0f} MiB held",
        ]
        if self.cache_bytes:
            lines.append(
                f"cache: {self.cache_bytes / 2**20:.0f} MiB, {self.cache_hits / max(1, self.examples):.0%} of the examples"
            )
        if self.skipped or self.boxes_left_out or self.replaced_workers:
            lost = f"{self.skipped} examples skipped, {self.boxes_left_out} boxes left out"
            lines.append(f"{lost}, {self.replaced_workers} workers replaced")
        return "\n".join(lines)


def add_tallies(tallies: Sequence[Tally]) -> Tally:
    return sum(tallies, start=Tally())


class ThroughputReporter:
    """Writes what was measured into the journal, where somebody watches: every few seconds and at the end."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._due = self._began + REPORT_INTERVAL_S

    @property
    def is_due(self) -> bool:
        return time.monotonic() >= self._due and probe.get_current() is not None

    def report(self, epoch: int, step: int, measured: InputMeasurement) -> None:
        now = time.monotonic()
        self._due = now + (REPORT_INTERVAL_S if now - self._began < LATER_AFTER_S else LATER_REPORT_INTERVAL_S)
        current = probe.get_current()
        if current is not None:
            current.emit(InputMeasured(at=time.time(), epoch=epoch, step=step, **asdict(measured)))
