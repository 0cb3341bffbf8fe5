"""What happened at one moment of a run: faults, stalls, pauses, errors, plans, restarts, checkpoints, the end.

An event is known by its name, so that journals of versions with further events are shown as well as can be.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from unstall.base.formatting import strip_codes
from unstall.diagnosis.errors.error_messages import find_innermost
from unstall.journal.events import (
    CheckpointSaved,
    ErrorRaised,
    Event,
    ProcessEnded,
    RunStarted,
    StallBegan,
    StallEnded,
    StepsEnded,
    VerdictReached,
)
from unstall.report.timeline.plots import round_number

Mark = dict[str, Any]
MAX_OF_A_KIND = 80
MAX_LETTERS = 600

# Name of the event: kind of the mark, title, what is said of it. Words in braces are fields of the event.
SHOWN = {
    "VerdictReached": ("fault", "{cause}", "{summary}"),
    "UpdateSkipped": ("fault", "update skipped at step {step}", "the {what} was not finite"),
    "MemoryExhausted": ("fault", "out of memory at step {step}", "{message}"),
    "LossDiverged": ("fault", "the loss diverged at step {step}", "from {usual_loss} to {loss}"),
    "CheckpointFailed": ("fault", "a checkpoint could not be written", "{error} {path}"),
    "CheckpointRefused": ("fault", "a checkpoint was refused", "{why} {path}; gone on from step {instead_step}"),
    "ExampleSkipped": ("fault", "an example was skipped", "{file}: {why}"),
    "WorkerReplaced": ("fault", "a worker of the input was replaced", "{why} {file}"),
    "WorkerFaltered": ("fault", "worker {worker} of {of} {how}", "{where} {why}"),
    "WorkerRecovered": ("note", "worker {worker} of {of} keeps up again", ""),
    "OthersLost": ("fault", "worker {worker} of {of} lost the others", "{error}"),
    "KernelSpoke": ("fault", "the kernel killed a process", "{line}"),
    "ErrorRaised": ("error", "{kind}", "{message}"),
    "PlanMade": ("plan", "plan: {remedy}", "{why}"),
    "PlanVerified": ("plan", "helped: {remedy}", "{how}"),
    "PlanUndone": ("plan", "taken back: {remedy}", "{why}"),
    "RepairsEnded": ("plan", "no further repair", "{why}"),
    "CheckpointSaved": ("checkpoint", "checkpoint", "{path}"),
    "EpochScored": ("note", "epoch {epoch} scored", ""),
    "CheckpointCompleted": ("checkpoint", "checkpoint of step {step}", "{path}"),
}
NO_MOMENTS = frozenset({"UpdatesMeasured"})  # of which there are many: they stand in the plots
LATER_MODULES = ("unstall.journal.events.training", "unstall.journal.events.training")


class Marks:
    def __init__(self) -> None:
        self._marks: dict[str, list[Mark]] = {}
        self._counts: dict[str, int] = {}
        self._every: dict[str, int] = {}
        self._last: dict[str, Mark] = {}
        self._starts = 0
        self._stall: tuple[StallBegan, float] | None = None
        self._is_named = False  # a verdict was reached in a stall, in this one or in one before it
        self._has_broken = False
        self._is_our_trainer = False

    def take(self, event: Event, moment: float) -> None:
        name = type(event).__name__
        if isinstance(event, StepsEnded):
            self._look_at_loss(event, moment)
        elif isinstance(event, StallBegan):
            self._stall = (event, moment)
        elif isinstance(event, StallEnded):
            self._end_stall(moment, "stall" if self._is_named else "pause")
        elif isinstance(event, ProcessEnded):
            if event.exit_code == 0 and not self._is_named:
                self._end_stall(moment, "pause")
            by_signal = event.signal is not None
            self._add("end", "ended", "by signal {signal}" if by_signal else "exit code {exit_code}", event, moment)
        elif isinstance(event, RunStarted):
            self._take_start(event, moment)
        elif name == "TrainingBegan":
            self._take_training(event)
        elif name in SHOWN and self._is_worth_a_mark(event):
            self._is_named = self._is_named or (self._stall is not None and isinstance(event, VerdictReached))
            self._add(*SHOWN[name], event, moment)
        elif type(event).__module__ in LATER_MODULES and name not in NO_MOMENTS:
            self._add("note", _words(name), "", event, moment)

    def _is_worth_a_mark(self, event: Event) -> bool:
        """An error that was caught is the program's own affair; of a checkpoint of our own trainer the end is told, too."""
        if isinstance(event, ErrorRaised):
            return event.fatal
        return not (isinstance(event, CheckpointSaved) and self._is_our_trainer)

    def _look_at_loss(self, group: StepsEnded, moment: float) -> None:
        if group.loss_is_finite is False and not self._has_broken:
            self._has_broken = True
            self._add("fault", "the loss is not finite since step {first}", "", group, moment)

    def _take_start(self, event: Event, moment: float) -> None:
        """The first is the begin of the run; whatever is started after it has begun again."""
        self._starts += 1
        self._end_stall(moment)
        if self._starts > 1:
            self._add("restart", "begun again", "", event, moment)

    def _take_training(self, event: Event) -> None:
        """Of a worker that was started again this says from where."""
        self._is_our_trainer = True
        from_step = int(getattr(event, "from_step", 0) or 0)
        if self._starts > 1 and from_step > 0:
            self._last["restart"]["detail"] = f"from step {from_step:,}"

    def _end_stall(self, until: float, kind: str = "stall") -> None:
        """One that nobody has named and that ended by itself is a pause: nothing was wrong, as far as is known."""
        if self._stall is not None:
            self._put({**self._stalled(*self._stall, until), "kind": kind})
            self._stall = None

    @staticmethod
    def _stalled(stall: StallBegan, moment: float, until: float) -> Mark:
        since = max(0.0, moment - (stall.at - stall.since))
        at_step = f" at step {stall.step}" if stall.step >= 0 else ""
        what = f"no progress for {until - since:.0f} s{at_step}"
        return {"at": round_number(since), "until": round_number(until), "kind": "stall", "title": what, "detail": stall.phase}

    def _add(self, kind: str, title: str, detail: str, event: Event, moment: float) -> None:
        fields: dict[str, Any] = defaultdict(str, {key: _as_text(value) for key, value in vars(event).items()})
        if isinstance(event, ErrorRaised):
            inner = find_innermost(event.kind, event.message)
            fields.update(kind=inner.name, message=strip_codes(inner.message))
        mark = {
            "at": round_number(moment),
            "kind": kind,
            "title": title.format_map(fields)[:MAX_LETTERS],
            "detail": detail.format_map(fields)[:MAX_LETTERS],
        }
        if type(event).__name__ == "VerdictReached":
            mark["cause"] = str(fields["cause"])[:MAX_LETTERS]
        self._put(mark)

    def _put(self, mark: Mark) -> None:
        """Of many marks every second one is kept, then every fourth, and so on; and the last."""
        kind = mark["kind"]
        known, count = self._marks.setdefault(kind, []), self._counts.get(kind, 0)
        self._counts[kind], self._last[kind] = count + 1, mark
        if count % self._every.setdefault(kind, 1) == 0:
            known.append(mark)
        if len(known) >= MAX_OF_A_KIND:
            del known[1::2]
            self._every[kind] *= 2

    def plain(self, seconds: float) -> dict[str, Any]:
        """All marks in order of time, and how many of each kind there were."""
        marks = [mark for kind in self._marks.values() for mark in kind]
        marks += [last for kind, last in self._last.items() if last is not self._marks[kind][-1]]
        counts = dict(self._counts)
        if self._stall is not None:
            marks.append({**self._stalled(*self._stall, seconds), "goes_on": True})
            counts["stall"] = counts.get("stall", 0) + 1
        return {"shown": sorted(marks, key=lambda mark: float(mark["at"])), "counts": counts}


def _as_text(value: object) -> object:
    if isinstance(value, str):
        return strip_codes(value)
    return f"{value:.4g}" if isinstance(value, float) else "not known" if value is None else value


def _words(name: str) -> str:
    """'EpochScored' as 'epoch scored'."""
    return " ".join(re.findall(r"[A-Z][a-z0-9]*", name)).lower()
