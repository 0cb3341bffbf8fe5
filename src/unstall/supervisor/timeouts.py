"""When is it late? Against the run's own history, and each phase by its own clock; never by one constant.

A program that uses the CPU or the device is slow rather than stuck, and is given more time.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from unstall.diagnosis.host_memory import Room
from unstall.diagnosis.stalls import is_asked_to_end
from unstall.journal.events import TERMINATION_SIGNALS, FitBegan, PhaseEnded, SignalSent, StallBegan, StepsEnded
from unstall.journal.pulse import Beat
from unstall.journal.reader import Journal
from unstall.sensors.printed_output.parser import Series
from unstall.sensors.printed_output.reader import PrintedOutput

LATE_TIMES_USUAL = 20.0
LATE_TIMES_LONGEST = 3.0
RECENT_GROUPS = 50


@dataclass(frozen=True)
class PhaseTimeout:
    """Seconds without a sign of progress after which a program that idles, or one that works, is looked at."""

    idle_s: float
    busy_s: float


PATIENCE = {
    "train": PhaseTimeout(8.0, 30.0),
    "loop": PhaseTimeout(8.0, 30.0),
    "validate": PhaseTimeout(8.0, 30.0),
    "predict": PhaseTimeout(8.0, 30.0),
    "first_step": PhaseTimeout(10.0, 30.0),
    "fit": PhaseTimeout(10.0, 30.0),
    "save": PhaseTimeout(10.0, 60.0),
    # Outside a training a program may wait for whatever it likes: only its stacks can say that something is wrong.
    "between": PhaseTimeout(10.0, 120.0),
    "start": PhaseTimeout(10.0, 120.0),
    "": PhaseTimeout(10.0, 120.0),
}


@dataclass(frozen=True)
class StallLimit:
    usual_s: float | None
    idle_s: float
    busy_s: float


def compute_limit(journal: Journal, phase: str) -> StallLimit:
    """How long this phase may be silent, from what it took before."""
    patience = PATIENCE.get(phase, PATIENCE[""])
    usual, longest = read_history(journal, phase)
    if usual is None:
        return StallLimit(None, patience.idle_s, patience.busy_s)
    allowed = max(usual * LATE_TIMES_USUAL, (longest or 0.0) * LATE_TIMES_LONGEST)
    return StallLimit(usual, max(patience.idle_s, allowed), max(patience.busy_s, allowed))


def read_history(journal: Journal, phase: str) -> tuple[float | None, float | None]:
    """(median, longest) seconds that a step, or a whole save, took before."""
    if phase == "save":
        seconds = [event.seconds for event in journal.of(PhaseEnded) if event.phase == "save"]
        return (median(seconds), max(seconds)) if seconds else (None, None)
    if phase not in {"train", "loop", "validate", "predict"}:
        return None, None
    kind = "train" if phase == "loop" else phase
    groups = [event for event in journal.of(StepsEnded) if event.phase == kind and event.first > 0][-RECENT_GROUPS:]
    if not groups:
        return None, None
    return _median_step_s(groups), max(group.longest_s for group in groups)


def _median_step_s(groups: list[StepsEnded]) -> float:
    """Of the steps, not of the groups: the first groups have a step each, which is quick where its batch was ready already."""
    rows = sorted((group.seconds / (group.last - group.first + 1), group.last - group.first + 1) for group in groups)
    left = sum(count for _, count in rows) / 2
    for number, (mean, count) in enumerate(rows):
        left -= count
        if left == 0:
            return (mean + rows[number + 1][0]) / 2
        if left < 0:
            return mean
    return rows[-1][0]


# A training that no hook sees, by the lines of progress that it prints.


MIN_PRINTED = 5  # lines after which it is known how often they come
PRINTED_PATIENCE = PhaseTimeout(10.0, 120.0)  # while it says itself that more steps are to come in this epoch
ENDLESS_PATIENCE = PhaseTimeout(60.0, 120.0)  # where nothing says whether more are to come
REGULAR_TIMES = 5.0  # lines that come as regularly as that are awaited though nothing says so


def compute_printed_limit(printed: Series | None) -> StallLimit | None:
    """How long after the last line it may be silent; None: nothing says that another was to come. Between epochs a program may
    evaluate, save or end."""
    if printed is None or printed.usual_s is None or len(printed.intervals) < MIN_PRINTED:
        return None
    if printed.of is not None and printed.step is not None:
        patience = PRINTED_PATIENCE if printed.step < printed.of else None
    else:
        is_regular = len(printed.intervals) >= 2 * MIN_PRINTED and printed.longest_s <= REGULAR_TIMES * printed.usual_s
        patience = ENDLESS_PATIENCE if is_regular else None
    if patience is None:
        return None
    allowed = max(printed.usual_s * LATE_TIMES_USUAL, printed.longest_s * LATE_TIMES_LONGEST)
    return StallLimit(printed.usual_s, max(patience.idle_s, allowed), max(patience.busy_s, allowed))


# The last sign of progress: of the pulse, of what the program prints, or that it used the CPU.


@dataclass(frozen=True)
class LastProgress:
    phase: str
    since: float  # wall clock
    step: int
    epoch: int
    limit: StallLimit
    is_sure: bool  # the pulse says so
    printed: str  # the line of progress that says so


def find_last_progress(
    journal: Journal, beat: Beat | None, now: float, output: PrintedOutput, idle_since: Callable[[], float]
) -> LastProgress:
    """`idle_since`: when the program was last seen to use the CPU; asked where the pulse says nothing."""
    phase = "" if beat is None else beat.phase
    since = 0.0 if beat is None else time.time() - beat.silent_s(now)
    step, epoch = (beat.step, beat.epoch) if beat is not None else (-1, -1)
    if has_progress(beat):
        return LastProgress(phase, since, step, epoch, compute_limit(journal, phase), is_sure=True, printed="")
    since = max(since, idle_since(), output.alive_at)
    printed = output.progress
    of_printed = compute_printed_limit(printed)
    if printed is None or of_printed is None:
        return LastProgress(phase, since, step, epoch, compute_limit(journal, phase), is_sure=False, printed="")
    step, epoch = (-1 if value is None else int(value) for value in (printed.step, printed.epoch))
    return LastProgress("train", since, step, epoch, of_printed, is_sure=False, printed=printed.line.strip())


def has_progress(beat: Beat | None) -> bool:
    """Whether the pulse would beat if the program got on: not before a training is seen, as when a first checkpoint is saved."""
    return beat is not None and (beat.steps_done > 0 or beat.phase not in {"start", "between"})


# How often something is looked at: often at first, more seldom later, seldom while a long run goes well.
#
# What is looked at is written down, and a run of days must not fill a disk, nor its watcher's memory.


STEADY_AFTER_S = 300.0  # of watching: what is wrong with most programs has shown by then
STEADY_SHARE = 0.8  # of the memory that may be used: beyond it a run is looked at as before
STEADY_LEFT_S = 1800.0  # until memory is full, as it grows now


@dataclass
class SamplingInterval:
    early_s: float
    late_s: float
    steady_s: float
    early_until_s: float = 60.0
    last: float = field(default=-math.inf)  # that it was done (monotonic)

    def is_due(self, now: float, age_s: float, is_steady: bool = False) -> bool:
        """It is then taken for done. As soon as a run is no longer calm, what was put off is due."""
        every_s = self.early_s if age_s < self.early_until_s else self.steady_s if is_steady else self.late_s
        if now - self.last < every_s:
            return False
        self.last = now
        return True

    def at_once(self) -> None:
        self.last = -math.inf


def is_steady(age_s: float, silent_s: float, late_after_s: float, memory: Room | None, full_in_s: float | None) -> bool:
    """Whether a run may be looked at seldom: it has gone on for a while, it moves, and memory is far from full."""
    moves = silent_s < late_after_s / 2
    has_room = memory is None or (memory.share < STEADY_SHARE and (full_in_s is None or full_in_s > STEADY_LEFT_S))
    return age_s >= STEADY_AFTER_S and moves and has_room


# A program that moves again after a stall: has it gone on, or is it only on its way out?
#
# Who meets a hang ends the program. Then it moves, too: the interrupt unwinds its stack, it saves, it cleans up. The stall
# has lasted to the end all the same, unless a training step is made.


ASIDE = frozenset({"validate", "predict"})
LEAVES_WITHIN_S = 60.0  # of the signal: a program without visible steps that works for longer has gone on in spite of it


def is_signal_pending() -> bool:
    """Somebody asks for the end, and it has not been passed on yet: what is seen from now on may be the program's way out."""
    return bool(TERMINATION_SIGNALS & signal.sigpending())


def is_leaving(journal: Journal, stall: StallBegan, before: Beat | None, beat: Beat | None, moved_at: float) -> bool:
    """Whether it moves only because it was asked to end. `before` is its pulse when the stall was noticed."""
    if not (is_signal_pending() or is_asked_to_end(journal, stall)):
        return False
    if before is None or beat is None:
        requested_at = max(
            (sent.at for sent in journal.since(SignalSent, stall.since) if sent.asks_for_the_end), default=moved_at
        )
        return moved_at <= requested_at + LEAVES_WITHIN_S
    fit = journal.last(FitBegan)
    has_restarted = fit is not None and fit.at > stall.at
    # Of a validation its own steps count. Those of a training are told late, on the way out: only their number tells.
    has_gone_on_aside = beat.phase == before.phase and beat.phase in ASIDE and beat.steps_done > before.steps_done
    return not (has_restarted or has_gone_on_aside or beat.step > before.step)
