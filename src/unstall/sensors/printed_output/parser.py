"""What a program prints, as bytes, to events: how far its training is, and what its loss is. Pure, and of bounded memory.

Progress is that of a training where a loss was printed with it, so the bar of a download is none. Lines that come fast are put
together in one event: a run of weeks must not fill a disk.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from unstall.journal.events import Event, LossPrinted, ProgressPrinted
from unstall.sensors.printed_output.formats import Reading, is_total, read_line

EARLY_S, EARLY_INTERVAL_S = 60.0, 1.0
LATER_S, LATER_INTERVAL_S = 1800.0, 5.0
LATE_INTERVAL_S = 30.0
RECENT = 50  # intervals between two lines
MAX_QUOTE = 160
CONTEXT_LINES = 20  # so far below a line with a step may stand what belongs to it
MAX_SERIES = 32
SAME_TRAINING_S = 60.0  # lines of different forms that come within that time are of one training
BLOCK_S = 0.5  # so long the lines of one table of losses may take
MOMENT_S = 0.05  # what comes within that time was printed at once


@dataclass
class Series:
    """Lines of one form, which count the same thing."""

    style: str
    step: int | None = None
    of: int | None = None
    epoch: float | None = None
    epochs: int | None = None
    steps: int = 0
    is_training: bool = False
    last_at: float = -math.inf  # when it got on
    intervals: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    longest_s: float = 0.0
    line: str = ""
    first_at: float = math.inf  # of what has not been told
    readings: int = 0

    def take(self, reading: Reading, at: float, line: str) -> None:
        position = (reading.epoch if reading.epoch is not None else self.epoch, reading.step)
        if position == (self.epoch, self.step):
            return
        before, was_epoch = self.step, self.epoch
        self.epoch, self.step = position
        self.of, self.epochs = reading.of or self.of, reading.epochs or self.epochs
        if reading.step is not None:
            is_on = before is not None and reading.step > before and self.epoch == was_epoch
            self.steps += reading.step - (before or 0) if is_on else reading.step
        if self.last_at > -math.inf and at - self.last_at >= MOMENT_S:
            self.intervals.append(at - self.last_at)
            self.longest_s = max(self.longest_s, at - self.last_at)
        self.first_at = min(self.first_at, at)
        self.last_at, self.line, self.readings = at, line, self.readings + 1

    @property
    def usual_s(self) -> float | None:
        return median(self.intervals) if self.intervals else None

    def as_event(self, at: float, stream: str) -> ProgressPrinted:
        event = ProgressPrinted(
            at=at, stream=stream, style=self.style, step=self.step, of=self.of, epoch=self.epoch, epochs=self.epochs,
            steps=self.steps, first_at=self.first_at, readings=self.readings, usual_s=self.usual_s,
            longest_s=self.longest_s or None, line=self.line[:MAX_QUOTE],
        )  # fmt: skip
        self.first_at, self.readings = math.inf, 0
        return event


@dataclass
class Losses:
    """Of those printed since the last event."""

    last: Reading | None = None
    value: float = 0.0
    line: str = ""
    first_at: float = 0.0
    last_at: float = 0.0
    readings: int = 0
    not_finite: int = 0
    moments: int = 0
    total: float = 0.0

    def take(self, reading: Reading, value: float, at: float, line: str, completes_last: bool) -> None:
        """`completes_last`: it is the last one again, with one more of its parts."""
        if completes_last and self.readings:
            self._count(self.value, -1)
        elif not self.readings:
            self.first_at = at
        if not self.readings or at - self.last_at >= MOMENT_S:
            self.moments += not (completes_last and self.moments)
            self.last_at = at
        self.last, self.value, self.line = reading, value, line
        self._count(value, 1)

    def _count(self, value: float, by: int) -> None:
        self.readings += by
        if math.isfinite(value):
            self.total += by * value
        else:
            self.not_finite += by

    def is_open(self, at: float) -> bool:
        """More of its parts may come."""
        return self.last is not None and self.last.belongs_to_last and self.last.step is not None and at - self.last_at < BLOCK_S


class OutputParser:
    """Of one stream."""

    def __init__(self, stream: str = "stdout", began: float = 0.0) -> None:
        self._stream = stream
        self._began = began
        self._lines = LineSplitter()
        self._series: dict[str, Series] = {}
        self._losses = Losses()
        self._loss_reported_at = self._progress_reported_at = -math.inf
        self._columns: tuple[str, ...] = ()
        self._context: Reading | None = None  # the last line with a step or an epoch
        self._context_age = 0
        self._context_losses: dict[str, float] = {}
        self._keras_epoch: Reading | None = None
        self._is_epoch_announced = False  # and no step of it has been printed yet
        self._was_finite = True
        self.alive_at = -math.inf  # when a line of progress came, of whatever

    def feed(self, data: bytes, at: float) -> list[Event]:
        """Events of the lines that end in it, which came at that moment."""
        return [event for line in self._lines.feed(data) for event in self._take(line, at)]

    def skip(self) -> None:
        """Bytes are missing here."""
        self._lines.skip()

    def poll(self, at: float) -> list[Event]:
        """What has been put together and is due, though no line has come since."""
        return self._due(at)

    def finish(self, at: float) -> list[Event]:
        events = [event for line in self._lines.finish() for event in self._take(line, at)]
        return [*events, *self._loss_events(at), *self._progress_events(at)]

    @property
    def progress(self) -> Series | None:
        """Of the training: that of the series which got on last, of those that count steps if there are any."""
        known = [series for series in self._series.values() if series.is_training]
        return max(known, key=lambda series: (series.step is not None, series.last_at), default=None)

    # --- a line ---

    def _take(self, line: str, at: float) -> list[Event]:
        self._context_age += 1
        reading = read_line(line, self._columns)
        if reading is None:
            return self._due(at)
        if reading.columns:
            self._columns = reading.columns
            return self._due(at)
        reading = self._placed(reading)
        self.alive_at = at
        if not reading.belongs_to_last and reading.style != "keras":
            self._context, self._context_age, self._context_losses = reading, 0, dict(reading.losses)
        if reading.is_aside:
            return self._due(at)
        if not reading.belongs_to_last:
            self._series_of(reading).take(reading, at, line)
        events = self._take_loss(reading, at, line) if reading.losses else []
        return [*events, *self._due(at)]

    def _series_of(self, reading: Reading) -> Series:
        key = "heading" if _is_heading(reading) else f"{reading.style} {reading.label}"
        if key not in self._series and len(self._series) >= MAX_SERIES:
            oldest = min(self._series, key=lambda each: self._series[each].last_at)
            del self._series[oldest]
        return self._series.setdefault(key, Series(reading.style))

    def _placed(self, reading: Reading) -> Reading:
        """With the step or the epoch that was printed before it, where it names none."""
        if reading.style == "keras":
            return self._of_keras(reading)
        if _is_heading(reading):
            self._keras_epoch, self._is_epoch_announced = reading, True
        if not reading.belongs_to_last:
            return reading
        near = self._context if self._context_age <= CONTEXT_LINES else None
        if near is None:
            return reading
        return Reading(reading.style, near.step, near.of, near.epoch, near.epochs, reading.losses,
                       near.is_aside or reading.is_aside, belongs_to_last=True)  # fmt: skip

    def _of_keras(self, reading: Reading) -> Reading:
        """`fit` announces each epoch, where there are several; `evaluate` and `predict` print the same lines without that."""
        series, epoch = self._series.get("keras "), self._keras_epoch
        if epoch is None:
            return reading if reading.losses or series is not None else _aside(reading)
        if series is not None and not self._is_epoch_announced:
            is_other = None not in (reading.of, series.of) and reading.of != series.of
            if is_other or (reading.step or 0) < (series.step or 0):
                return _aside(reading)
        self._is_epoch_announced = False
        return Reading("keras", reading.step, reading.of, epoch.epoch, epoch.epochs, reading.losses)

    def _take_loss(self, reading: Reading, at: float, line: str) -> list[Event]:
        completes_last = reading.belongs_to_last and self._context is not None and bool(self._context_losses)
        if reading.belongs_to_last and self._context is not None:  # a table of losses, a line for each
            self._context_losses.update(reading.losses)
            reading = Reading(
                reading.style, reading.step, reading.of, reading.epoch, reading.epochs, self._context_losses, belongs_to_last=True
            )
        loss = reading.loss
        if loss is None:
            return []
        for series in self._series.values():
            if at - series.last_at <= SAME_TRAINING_S:
                series.is_training = True
        events: list[Event] = []
        is_finite = math.isfinite(loss[1])
        if self._was_finite and not is_finite and at - self._loss_reported_at >= EARLY_INTERVAL_S and not completes_last:
            events = self._loss_events(at)  # what was finite stands for itself, and what is not is told at once
            self._loss_reported_at = -math.inf
        self._was_finite = is_finite
        self._losses.take(reading, loss[1], at, line, completes_last)
        return events

    # --- events ---

    def _due(self, at: float) -> list[Event]:
        interval = self._interval(at)
        events: list[Event] = []
        if at - self._loss_reported_at >= interval and not self._losses.is_open(at):
            events += self._loss_events(at)
        if at - self._progress_reported_at >= interval:
            events += self._progress_events(at)
        return events

    def _interval(self, at: float) -> float:
        age = at - self._began
        return EARLY_INTERVAL_S if age < EARLY_S else LATER_INTERVAL_S if age < LATER_S else LATE_INTERVAL_S

    def _loss_events(self, at: float) -> list[Event]:
        kept, self._losses = self._losses, Losses()
        loss = kept.last.loss if kept.last is not None else None
        if kept.last is None or loss is None:
            return []
        self._loss_reported_at = at
        is_finite, finite = math.isfinite(loss[1]), kept.readings - kept.not_finite
        return [
            LossPrinted(
                at=at, stream=self._stream, style=kept.last.style, name=loss[0][:MAX_QUOTE],
                is_total=any(map(is_total, kept.last.losses)), value=loss[1] if is_finite else None, is_finite=is_finite,
                mean=kept.total / finite if finite else None, step=kept.last.step, epoch=kept.last.epoch,
                first_at=kept.first_at, readings=kept.readings, not_finite=kept.not_finite, moments=kept.moments,
                line=kept.line.strip()[:MAX_QUOTE],
            )
        ]  # fmt: skip

    def _progress_events(self, at: float) -> list[Event]:
        series = self.progress
        if series is None or not series.readings:
            return []
        self._progress_reported_at = at
        return [series.as_event(at, self._stream)]


def _aside(reading: Reading) -> Reading:
    return Reading(reading.style, reading.step, reading.of, is_aside=True)


def _is_heading(reading: Reading) -> bool:
    """`Epoch 3/50`, and nothing else."""
    return reading.style == "pairs" and bool(reading.epochs) and reading.step is None and not reading.losses


# Bytes, cut anywhere, to the lines that a person would see: without escape codes, one for each state of a progress bar.


MAX_LINE_BYTES = 2048  # a longer one is no line of progress: it is passed over, and never held whole
_CODES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]|[\x00-\x08\x0e-\x1f\x7f]")
CANDIDATE = re.compile(
    rb"[Ll][Oo][Ss][Ss]|[Ss][Tt][Ee][Pp]|[Ee][Pp][Oo][Cc][Hh]|[Ii][Tt][Ee][Rr]|\d\s?/\s?(?:\d|Unk)|\dit \[|\savg\b|[Bb]atch"
)
_ENDS = re.compile(rb"[\r\n\x08]+")  # a bar is drawn anew after a carriage return, or after as many backspaces


class LineSplitter:
    def __init__(self) -> None:
        self._rest = b""
        self._is_too_long = False  # what has begun of the present line was thrown away

    def feed(self, data: bytes) -> Iterator[str]:
        """Of the lines that are complete now, those in which something of a training may stand: most say nothing of one."""
        pieces = _ENDS.split(data)
        pieces[0] = self._rest + pieces[0]
        for piece in pieces[:-1]:
            is_whole, self._is_too_long = not self._is_too_long, False
            if is_whole and len(piece) <= MAX_LINE_BYTES and CANDIDATE.search(piece) is not None:
                yield clean_line(piece)
        self._rest = pieces[-1]
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest, self._is_too_long = b"", True

    def skip(self) -> None:
        """Bytes are missing here: what comes up to the next line end is the rest of some line."""
        self._rest, self._is_too_long = b"", True

    def finish(self) -> Iterator[str]:
        """Nothing more will come: the last line needs no end."""
        if self._rest and not self._is_too_long and CANDIDATE.search(self._rest) is not None:
            yield clean_line(self._rest)
        self._rest, self._is_too_long = b"", False


def clean_line(line: bytes) -> str:
    return _CODES.sub(b"", line).decode("utf-8", "replace").rstrip()
