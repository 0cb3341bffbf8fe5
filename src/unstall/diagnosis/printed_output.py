"""A training as the program itself printed it: for what no hook sees. Where hooks see the loss, what is printed is not asked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean, median

from unstall.journal.events import EpochEnded, LossPrinted, ProgressPrinted, StepsEnded
from unstall.journal.reader import Journal

MIN_NOT_FINITE = 3  # lines in a row, at as many moments: a mean of nothing is NaN before the first step
MIN_WITHOUT_STEP = 5  # of lines that name no step
MIN_SPAN_S = 1.0  # between the first of them and the last: a file that is shown comes at once
MIN_READINGS = 8  # events with a loss, before anything is said about its course
RISEN_TIMES = 100.0
MIN_STEPS, MIN_EPOCHS, MIN_SECONDS = 2000, 4, 18.0  # before a loss is said not to fall
AT_GUESSING = 0.01  # so near to the loss of guessing, as a share
MAX_TREND = 0.004  # a fall by this share from the first half to the second is a fall
GUESSED_CLASSES = (*range(2, 11), 100, 1000)
# Lines that the framework itself prints, in a form that nothing else has.
FRAMEWORK_STYLES = {"keras": "Keras", "table": "Ultralytics", "darknet": "Darknet"}


@dataclass(frozen=True)
class PrintedNotFinite:
    """Losses printed as NaN or infinite, one after the other, up to the last."""

    events: tuple[LossPrinted, ...]
    before: LossPrinted | None  # the last that was finite
    is_sure: bool  # they came as those of a training do, not all at once
    outlasts_epoch: bool

    @property
    def readings(self) -> int:
        return sum(event.not_finite for event in self.events)


def is_loss_hooked(journal: Journal) -> bool:
    """Whether a hook sees the loss."""
    of_steps = any(group.loss is not None or group.loss_is_finite is not None for group in journal.of(StepsEnded))
    return of_steps or any("loss" in epoch.logs or "loss" in epoch.not_finite for epoch in journal.of(EpochEnded))


def is_training_printed(journal: Journal) -> bool:
    """Steps or epochs, with a loss."""
    return journal.last(ProgressPrinted) is not None and journal.last(LossPrinted) is not None


def read_printed_epoch(journal: Journal) -> tuple[int, int] | None:
    """(the epoch, counted from 0, of how many). None where none is printed, or the number from which it counts is not known."""
    events = [event for event in journal.of(ProgressPrinted) if event.epoch is not None and event.epochs is not None]
    numbers = [float(event.epoch or 0.0) for event in events]
    if not events or not all(number.is_integer() for number in numbers):
        return None
    epochs = events[-1].epochs or 0
    first = 0 if numbers[0] == 0 else 1 if numbers[0] == 1 or numbers[-1] == epochs else None
    return None if first is None else (int(numbers[-1]) - first, epochs)


def read_printed_losses(journal: Journal) -> list[LossPrinted]:
    """Of the loss itself, where it is printed; else of its parts. Of the stream that told it last."""
    events = journal.of(LossPrinted)
    if not events:
        return []
    of_stream = [event for event in events if event.stream == events[-1].stream]
    totals = [event for event in of_stream if event.is_total]
    return totals or of_stream


def find_not_finite(journal: Journal) -> PrintedNotFinite | None:
    """None: the last loss that was printed is finite."""
    losses = read_printed_losses(journal)
    count = 0
    for event in reversed(losses):
        if event.is_finite:
            break
        count += 1
    if not count:
        return None
    bad = tuple(losses[-count:])
    before = losses[-count - 1] if count < len(losses) else None
    readings, moments = sum(event.not_finite for event in bad), sum(event.moments for event in bad)
    has_steps = bad[-1].step is not None or bad[-1].epoch is not None
    places = {(event.epoch, event.step) for event in bad}
    is_on = len(places) >= 2 if has_steps else readings >= MIN_WITHOUT_STEP
    is_long = bad[-1].at - bad[0].first_at >= MIN_SPAN_S
    epochs = {event.epoch for event in bad if event.epoch is not None}
    is_sure = is_on and is_long and min(readings, moments) >= MIN_NOT_FINITE
    return PrintedNotFinite(bad, before, is_sure, len(epochs) >= 2)


def find_risen(journal: Journal) -> tuple[LossPrinted, float] | None:
    """(the last event, the loss of the beginning), where the loss stands many times above it."""
    losses = [event for event in read_printed_losses(journal) if event.mean is not None and event.is_total]
    if len(losses) < MIN_READINGS:
        return None
    first = median(event.mean or 0.0 for event in losses[:3])
    late = [event.mean or 0.0 for event in losses[-5:]]
    return (losses[-1], first) if first > 0 and min(late) > RISEN_TIMES * first and late[-1] >= late[0] / 2 else None


def find_guessing(journal: Journal) -> tuple[int, tuple[LossPrinted, ...]] | None:
    """(classes, events), where the loss has stood at what guessing among so many classes gives, from beginning to end."""
    losses = [event for event in read_printed_losses(journal) if event.mean is not None and event.is_total]
    progress = journal.last(ProgressPrinted)
    if len(losses) < MIN_READINGS or progress is None or losses[-1].at - losses[0].at < MIN_SECONDS:
        return None
    if progress.steps < MIN_STEPS or (progress.epoch or 0) < MIN_EPOCHS or not all(event.is_finite for event in losses):
        return None
    means = [event.mean or 0.0 for event in losses[1:]]
    level, half = mean(means), len(means) // 2
    if mean(means[:half]) - mean(means[half:]) > MAX_TREND * level:
        return None
    for classes in GUESSED_CLASSES:
        guess = math.log(classes)
        if all(abs(each - guess) <= AT_GUESSING * guess for each in means):
            return classes, tuple(losses)
    return None
