"""One pass over the journals of a run: of most kinds of events a few are kept, of the many only what they add up to."""

from __future__ import annotations

from typing import TypeVar, cast

from unstall.diagnosis.run_summary import measure_input_seconds
from unstall.journal.events import (
    CheckpointSaved,
    CompilationsCounted,
    DeviceMemoryCounted,
    DeviceSampled,
    EpochEnded,
    Event,
    FitBegan,
    HostSampled,
    PhaseBegan,
    PhaseEnded,
    ProcessEnded,
    ProgramEnded,
    StackSampled,
    StepsEnded,
    ThreadsSeen,
    WeightsSampled,
)

E = TypeVar("E", bound=Event)
FIRST_KEPT = 64
LAST_KEPT = 64
# Very many in a long run, and of no use one by one.
NOT_KEPT = (StepsEnded, PhaseBegan, PhaseEnded, StackSampled, ThreadsSeen, WeightsSampled, EpochEnded)


class JournalSummary:
    """The first and the last of each kind of event, in order; the course of the run in figures."""

    def __init__(self) -> None:
        self._first: dict[type[Event], list[Event]] = {}
        self._last: dict[type[Event], list[Event]] = {}
        self.step_stats = StepStatistics()
        self.began_at: float | None = None
        self.last_at: float | None = None

    def take(self, event: Event) -> None:
        if event.at > 0:
            self.began_at = event.at if self.began_at is None else min(self.began_at, event.at)
            self.last_at = event.at if self.last_at is None else max(self.last_at, event.at)
        self.step_stats.take(event, event.at - (self.began_at or event.at))
        if isinstance(event, NOT_KEPT):
            return
        first = self._first.setdefault(type(event), [])
        if len(first) < FIRST_KEPT:
            first.append(event)
            return
        last = self._last.setdefault(type(event), [])
        last.append(event)
        if len(last) > 2 * LAST_KEPT:
            del last[:LAST_KEPT]

    def of(self, kind: type[E]) -> list[E]:
        return cast("list[E]", [*self._first.get(kind, []), *self._last.get(kind, [])])

    def first(self, kind: type[E]) -> E | None:
        return next(iter(self.of(kind)), None)

    def last(self, kind: type[E]) -> E | None:
        events = self.of(kind)
        return events[-1] if events else None

    def cards(self) -> list[DeviceSampled]:
        """The first look at each card."""
        by_index: dict[int, DeviceSampled] = {}
        for event in self.of(DeviceSampled):
            by_index.setdefault(event.index, event)
        return [by_index[index] for index in sorted(by_index)]


# How a run went, added up event by event: a run of a million steps needs no more room than one of a thousand.


WARM_UP_STEPS = 3  # the first of a fit: they compile, fill queues and tune kernels
MAX_DURATIONS = 4000
MAX_POINTS = 400


class Points:
    """Pairs, thinned out as they come: every second one is dropped when they are too many."""

    def __init__(self, most: int = MAX_POINTS) -> None:
        self._most = most
        self._every = 1
        self._seen = 0
        self.pairs: list[list[float]] = []

    def add(self, place: float, value: float) -> None:
        if self._seen % self._every == 0:
            self.pairs.append([place, value])
            if len(self.pairs) > self._most:
                self.pairs = self.pairs[::2]
                self._every *= 2
        self._seen += 1


class Mean:
    """Of groups of steps, each of which told what its steps took on average; and how unsure it is by how these differ."""

    def __init__(self) -> None:
        self._counts = self._counts_squared = self._groups = 0
        self._total = self._weighted = self._squares = 0.0

    def add(self, total: float, count: int) -> None:
        self._groups += 1
        self._counts += count
        self._counts_squared += count * count
        self._total += total
        self._weighted += count * total
        self._squares += total * total

    @property
    def value(self) -> float | None:
        return self._total / self._counts if self._counts else None

    @property
    def unsure(self) -> float | None:
        """The standard error. One step of ten that something held up makes it about as large as it made the mean."""
        if self.value is None or self._groups < 2:
            return None
        deviation = self._squares - 2.0 * self.value * self._weighted + self.value**2 * self._counts_squared
        return float((max(0.0, deviation) * self._groups / (self._groups - 1)) ** 0.5 / self._counts)


class StepStatistics:
    def __init__(self) -> None:
        self.steps = 0
        self.later_steps = 0  # after the warm-up
        self.durations: list[tuple[float, int]] = []  # seconds of a step, and of how many
        self.totals = dict.fromkeys(("input", "compute", "validation", "checkpoint", "compile", "between"), 0.0)
        self.parts = {name: Mean() for name in ("input", "compute", "between")}  # of a step, after the warm-up
        self.is_input_measured = False
        self.host_peak_bytes: int | None = None
        self.host_before_bytes: int | None = None  # before the first training began: the framework, the program, its data
        self.held: list[tuple[float, float, int]] = []  # when a window began, its seconds, the most that was held in it
        self.stepped_at: list[float] = []  # when the first step had ended, and the last one
        self.compiler_bytes: int | None = None  # that the process grew by in compilations, up to the last step
        self.device_peak_bytes: dict[int, int] = {}
        self.device_limit_bytes: dict[int, int] = {}
        self.allocator_peak_bytes: int | None = None
        self.first_loss: float | None = None
        self.last_loss: float | None = None
        self.min_loss: float | None = None
        self.losses = Points()
        self.epoch_losses = Points()
        self.host_memory = Points()
        self.device_memory = Points()
        self.not_finite_since_step: int | None = None
        self.last_logs: dict[str, float | None] = {}
        self.max_threads = 0
        self.cpu_core_seconds = 0.0
        self.cpu_seconds = 0.0
        self.queued_core_seconds = 0.0  # of threads that were ready and had no core
        self.busy_and_queued = (0.0, 0.0)  # the same two, since the first step: before it a program has one thread, mostly
        self._steps_before = 0  # of fits that have ended
        self._is_training = False
        self._compiler_bytes: int | None = None

    def take(self, event: Event, moment: float) -> None:
        if isinstance(event, StepsEnded):
            self._take_steps(event)
        elif isinstance(event, EpochEnded):
            self.last_logs = event.logs
            if "loss" in event.not_finite and self.not_finite_since_step is None:
                self.not_finite_since_step = self.steps
            loss = event.logs.get("loss")
            if loss is not None:
                self.epoch_losses.add(self.steps, loss)
        elif isinstance(event, PhaseEnded) and event.phase == "validate":
            self.totals["validation"] += event.seconds
        elif isinstance(event, CheckpointSaved):
            self.totals["checkpoint"] += event.seconds
        elif isinstance(event, FitBegan):
            self._is_training = True
        elif isinstance(event, HostSampled | ProcessEnded | ProgramEnded):
            self._take_host(event, moment)
        elif isinstance(event, CompilationsCounted):
            self._compiler_bytes = event.grown_bytes
        elif isinstance(event, DeviceSampled):
            self._take_device(event, moment)
        elif isinstance(event, DeviceMemoryCounted):
            peak = max(event.peak_bytes or 0, event.in_use_bytes or 0)
            self.allocator_peak_bytes = max(self.allocator_peak_bytes or 0, peak) or None

    def _take_steps(self, group: StepsEnded) -> None:
        if group.phase != "train":
            return
        count = max(1, group.last - group.first + 1)
        self.stepped_at = [*self.stepped_at[:1], group.at]
        self.compiler_bytes = self._compiler_bytes
        if group.first == 0:
            self._steps_before = self.steps
        self.steps += count
        self._take_loss(group)
        if group.first == 0:
            self.totals["compile"] += group.busy_s
            return
        waiting = measure_input_seconds([group])
        self.is_input_measured = self.is_input_measured or waiting is not None
        inside = min(group.seconds, group.busy_s + (group.wait_s or 0.0))
        if group.first < WARM_UP_STEPS:
            return
        self.later_steps += count
        of_parts = {
            "input": waiting or 0.0, "compute": max(0.0, inside - (waiting or 0.0)), "between": max(0.0, group.seconds - inside),
        }  # fmt: skip
        for name, seconds in of_parts.items():
            self.totals[name] += seconds
            self.parts[name].add(seconds, count)
        self.durations.append((group.seconds / count, count))
        if len(self.durations) > MAX_DURATIONS:
            self.durations = self.durations[::2]

    def _take_loss(self, group: StepsEnded) -> None:
        if group.loss_is_finite is False and self.not_finite_since_step is None:
            self.not_finite_since_step = self._steps_before + group.first
        if group.loss is None:
            return
        self.first_loss = group.loss if self.first_loss is None else self.first_loss
        self.min_loss = group.loss if self.min_loss is None else min(self.min_loss, group.loss)
        self.last_loss = group.loss
        self.losses.add(self._steps_before + group.last, group.loss)

    def _take_host(self, event: HostSampled | ProcessEnded | ProgramEnded, moment: float) -> None:
        if not isinstance(event, HostSampled):
            self.host_peak_bytes = max(self.host_peak_bytes or 0, event.peak_rss_bytes or 0) or None
            return
        self.host_peak_bytes = max(self.host_peak_bytes or 0, event.rss_bytes)
        if not self._is_training:
            self.host_before_bytes = event.rss_bytes
        self.host_memory.add(round(moment, 2), event.rss_bytes)
        self._take_windows(event)
        self.max_threads = max(self.max_threads, event.threads)
        self.cpu_core_seconds += event.cpu_cores * event.interval_s
        self.cpu_seconds += event.interval_s
        self.queued_core_seconds += event.queued_cores * event.interval_s
        if self.stepped_at:
            busy, queued = self.busy_and_queued
            self.busy_and_queued = (busy + event.cpu_cores * event.interval_s, queued + event.queued_cores * event.interval_s)

    def _take_windows(self, event: HostSampled) -> None:
        if not self.stepped_at or not event.max_rss_bytes:
            return
        seconds = event.interval_s / len(event.max_rss_bytes)
        began = event.at - event.interval_s
        self.held += [(began + place * seconds, seconds, most) for place, most in enumerate(event.max_rss_bytes)]
        if len(self.held) > MAX_DURATIONS:
            self.held = self.held[::2]

    def _take_device(self, event: DeviceSampled, moment: float) -> None:
        """What the program itself holds, where the driver tells; else all that is in use."""
        ours = sum(process.get("bytes") or 0 for process in event.processes if process.get("ours"))
        used = ours or event.used_bytes
        self.device_peak_bytes[event.index] = max(self.device_peak_bytes.get(event.index, 0), used)
        self.device_limit_bytes[event.index] = event.total_bytes
        if event.index == min(self.device_limit_bytes):
            self.device_memory.add(round(moment, 2), used)
