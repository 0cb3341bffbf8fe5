"""How many threads make examples at once: as many as help, and no more. And what their time goes into.

Reading, decoding and resizing let go of the interpreter's lock, all else of an example holds it for a tenth of a millisecond or
two. Threads beyond what is needed mostly queue up for it, and with them the thread that trains: it launches a step by a hundred
small calls, each of which lets go of the lock and queues up again. So it begins with few. While the training waits, one step more
or less is tried, and kept if more examples come of it; while threads are idle, one is sent home.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median

from unstall.journal.events import InputMeasured
from unstall.probe.core import probe

FIRST = 3  # threads to begin with
LADDER = (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450, 675, 1024)
PERIOD_S = 1.0  # between looks, at least
MIN_BATCHES = 3  # that were taken in between
WAITED_SHARE = 0.01  # of the time; a training that waits longer is hungry
BEHIND_SHARE = 0.5  # of what is to be made ahead: more of it not yet begun, and the training will wait soon
BETTER = 1.03  # times as many examples as before
IDLE_THREADS = 1.2  # one can go, and the others are not busy all the time
IDLE_PERIODS = 3  # in a row
RECENT = 5  # batches
GAP_S, GAP_TIMES = 3.0, 10.0  # between two batches, and times as long as usual: nobody trained meanwhile, or all was stopped
FIRST_PAUSE_S, LONGEST_PAUSE_S = 10.0, 600.0  # after trials that were in vain, both ways


@dataclass(frozen=True, slots=True)
class ThroughputSample:
    """Counted from the beginning on."""

    at: float
    batches: int = 0  # that the training took
    made: int = 0  # examples
    waited_s: float = 0.0  # the training, for batches
    idle_s: float = 0.0  # the threads, all together
    behind: float = 0.0  # of what is to be made ahead, the share that is not begun; of this moment


class ThreadAutotuner:
    def __init__(self, most: int, at: float) -> None:
        self.most = most
        self.count = min(most, FIRST)
        self._last, self._looked_at = ThroughputSample(at), at
        self._recent_s: deque[float] = deque(maxlen=RECENT)  # between two looks
        self._idle_periods = 0
        self._tried: tuple[int, float] | None = None  # threads before a trial, and examples a second that they made
        self._way = 1  # up the ladder, or down
        self._failed_trials = 0  # ways that did not help, one after the other
        self._pause_s = FIRST_PAUSE_S
        self._paused_until = at

    def look(self, seen: ThroughputSample) -> int:
        """How many there should be from now on."""
        if self._is_gap(seen.at - self._looked_at):
            self._restart(seen)
        self._looked_at = seen.at
        last, seconds = self._last, seen.at - self._last.at
        if seconds < PERIOD_S or seen.batches - last.batches < MIN_BATCHES:
            return self.count
        self._last = seen
        rate = (seen.made - last.made) / seconds
        if (seen.waited_s - last.waited_s) / seconds > WAITED_SHARE or seen.behind > BEHIND_SHARE:
            self._idle_periods = 0
            self._feed(seen.at, rate)
        else:
            self._rest((seen.idle_s - last.idle_s) / seconds)
        return self.count

    def _is_gap(self, seconds: float) -> bool:
        usual = median(self._recent_s) if self._recent_s else seconds
        self._recent_s.append(seconds)
        return seconds > GAP_S and seconds > GAP_TIMES * usual

    def _restart(self, seen: ThroughputSample) -> None:
        """A period with a gap in it says nothing, and a trial that it was in is not judged."""
        self._last = seen
        if self._tried is not None:
            self.count, self._tried = self._tried[0], None

    # --- while the training waits ---

    def _feed(self, now: float, rate: float) -> None:
        if self._tried is not None:
            before, rate_before = self._tried
            self._tried = None
            if rate < BETTER * rate_before:
                self.count, rate = before, rate_before
                self._turn(now)
            else:
                self._failed_trials, self._pause_s = 0, FIRST_PAUSE_S
        if now >= self._paused_until:
            self._try(now, rate)

    def _try(self, now: float, rate: float) -> None:
        wanted = self._next_rung()
        if wanted == self.count:
            self._turn(now)
            wanted = self._next_rung() if now >= self._paused_until else self.count
        if wanted != self.count:
            self._tried = (self.count, rate)
            self.count = wanted

    def _turn(self, now: float) -> None:
        """The other way next time; after both in vain, not for a while."""
        self._way, self._failed_trials = -self._way, self._failed_trials + 1
        if self._failed_trials >= 2:
            self._way, self._failed_trials = 1, 0
            self._paused_until = now + self._pause_s
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def _next_rung(self) -> int:
        if self._way > 0:
            return min(self.most, next((rung for rung in LADDER if rung > self.count), self.most))
        return max((rung for rung in LADDER if rung < self.count), default=self.count)

    # --- while it does not ---

    def _rest(self, idle_threads: float) -> None:
        self._tried = None  # it helped, or was not needed: then some will be idle
        self._way, self._failed_trials, self._pause_s = 1, 0, FIRST_PAUSE_S
        self._idle_periods = self._idle_periods + 1 if idle_threads > IDLE_THREADS else 0
        if self._idle_periods >= IDLE_PERIODS and self.count > 1:
            self.count, self._idle_periods = self.count - 1, 0


# What the pipeline does with its time: counted by each worker for itself, told as an event now and then, and to a person.


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
