"""What a list says of one run, from its newest events: state, progress, speed, time left. Events are taken as they come.

The judgement is that of the story (`report/story/run.py`). Two things differ, so that a list that is looked at all day raises no
alarm for nothing: a stall that nobody has named is called slow until it has lasted, and a run that nobody watches any more has
ended.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from unstall.diagnosis.stalls import LEAVING
from unstall.journal.events import (
    ErrorRaised,
    Event,
    FitBegan,
    FrameworkLoaded,
    HostSampled,
    PlanMade,
    ProcessEnded,
    ProgramEnded,
    RepairsEnded,
    RunStarted,
    SignalSent,
    StallBegan,
    StallEnded,
    StepsEnded,
    TrainingBegan,
    TrainingEnded,
    VerdictReached,
)
from unstall.journal.reader import Journal
from unstall.journal.run_folder import RunFolder
from unstall.report.story.run import find_state
from unstall.storage.download import LATE_S, is_copy

LOOK_BACK_S = 20.0  # over which the speed is told
HOSTS_KEPT = 40
UNNAMED_STALL_S = 30.0  # a stall without a verdict is called stuck when it has lasted so long
TREATED_WITHIN_S = 60.0  # what a worker died of is found out, and the next one started, in this time
ENDED_STATES = frozenset({"failed", "killed", "interrupted", "done", "ended"})
KEPT = (FitBegan, FrameworkLoaded, ProcessEnded, ProgramEnded, TrainingBegan, TrainingEnded)


@dataclass
class RunStatus:
    began_at: float | None = None
    last_at: float = 0.0
    started: RunStarted | None = None
    repairs: int = 0
    is_given_up: bool = False
    verdict_at: dict[str, float] = field(default_factory=dict)
    _newest: dict[type[Event], Event] = field(default_factory=dict)
    _error: ErrorRaised | None = None
    _asked: SignalSent | ErrorRaised | None = None  # the last signal or interrupt that asked the program to end
    _stall: StallBegan | None = None
    _first: StepsEnded | None = None  # of the worker that runs
    _groups: deque[StepsEnded] = field(default_factory=deque)
    _hosts: deque[HostSampled] = field(default_factory=lambda: deque(maxlen=HOSTS_KEPT))

    def take(self, events: Iterable[Event]) -> None:
        """In order of time, as far as that is known."""
        for event in events:
            self.began_at = event.at if self.began_at is None else min(self.began_at, event.at)
            self.last_at = max(self.last_at, event.at)
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._begin(event)
        elif isinstance(event, StepsEnded):
            self._take_steps(event)
        elif isinstance(event, HostSampled):
            self._hosts.append(event)
        elif isinstance(event, StallBegan | StallEnded):
            self._stall = event if isinstance(event, StallBegan) else None
        elif isinstance(event, VerdictReached):
            self.verdict_at.setdefault(event.cause, event.at)
        elif isinstance(event, PlanMade):
            self.repairs += event.attempt > 0
        elif isinstance(event, RepairsEnded):
            self.is_given_up = True
        elif isinstance(event, ErrorRaised):
            self._error = event if event.fatal and event.thread in {"", "MainThread"} else self._error
            self._asked = event if event.kind in LEAVING else self._asked
        elif isinstance(event, SignalSent):
            self._asked = event if event.asks_for_the_end else self._asked
        elif isinstance(event, KEPT):
            self._newest[type(event)] = event

    def _begin(self, event: RunStarted) -> None:
        """A training that was repaired has several workers, one after the other: what is told is of the newest."""
        if self.started is not None:
            self._newest.clear()
            self._groups.clear()
            self._error = self._stall = self._first = self._asked = None
            self.is_given_up = False
        self.started = event

    def _take_steps(self, group: StepsEnded) -> None:
        if group.phase != "train":
            return
        if self._first is None or group.last < self._first.last:
            self._first = group
        self._groups.append(group)
        while len(self._groups) > 2 and group.at - self._groups[0].at > LOOK_BACK_S:
            self._groups.popleft()

    # --- what is told ---

    @property
    def ended(self) -> ProcessEnded | None:
        event = self._newest.get(ProcessEnded)
        return event if isinstance(event, ProcessEnded) else None

    @property
    def training(self) -> TrainingBegan | None:
        event = self._newest.get(TrainingBegan)
        return event if isinstance(event, TrainingBegan) else None

    def stalled_s(self, now: float) -> float | None:
        return max(0.0, now - self._stall.since) if self._stall is not None and self.ended is None else None

    def state(self, now: float, is_live: bool, is_named: bool) -> str:
        """`is_named`: a verdict stands. A name of TONES in rows.py."""
        result = find_state(self._journal(now), is_named)
        if result in ENDED_STATES:
            return "starting" if is_live and self._is_treated(result, now) else result
        if not is_live:
            return "ended"
        if result == "stuck" and not is_named and (self.stalled_s(now) or 0.0) < UNNAMED_STALL_S:
            return "slow"
        if result == "running" and self._is_about_to_train():
            return "starting"
        return "repaired" if result == "training" and self.repairs else result

    def _journal(self, now: float) -> Journal:
        """As much of one as the state is told from."""
        single = [self.started, self._error, self._asked, self._stall, *self._newest.values(), *list(self._groups)[-1:]]
        return Journal([event for event in (*single, *self._hosts) if event is not None], now=now)

    def _is_treated(self, text: str, now: float) -> bool:
        """The worker of a training has ended, and what is to be done about it is being found out."""
        is_ours = self.started is not None and self.started.mode == "train"
        is_recent = self.ended is not None and now - self.ended.at < TREATED_WITHIN_S
        return is_ours and is_recent and text in {"failed", "killed"} and not self.is_given_up

    def _is_about_to_train(self) -> bool:
        is_ours = self.started is not None and self.started.mode == "train"
        return is_ours or FitBegan in self._newest or FrameworkLoaded in self._newest

    def progress(self) -> dict[str, Any]:
        """Steps are counted over all epochs and all workers; None is what is not known."""
        fit, training, result = self._newest.get(FitBegan), self.training, self._newest.get(TrainingEnded)
        last = self._groups[-1] if self._groups else None
        before = training.from_step if training is not None else 0
        in_this = last.last + 1 if last is not None else 0
        if self._stall is not None and not self._stall.printed:  # steps of which the program wrote nothing before it stood still
            in_this = max(in_this, self._stall.step)
        done = before + in_this or None
        if isinstance(result, TrainingEnded):
            done = max(done or 0, result.step)
        epochs = fit.epochs if isinstance(fit, FitBegan) else None
        in_each = fit.steps_per_epoch if isinstance(fit, FitBegan) else None
        if training is not None:
            epochs, in_each = training.epochs or epochs, training.steps_per_epoch or in_each
        return {
            "step": done,
            "steps": epochs * in_each if epochs and in_each and in_each > 0 else None,
            "epoch": last.epoch + 1 if last is not None else None,
            "epochs": epochs,
            "loss": last.loss if last is not None else None,
        }

    def speed(self) -> dict[str, Any] | None:
        """Over the last seconds; in images where it is known how many a step has."""
        count = sum(group.last - group.first + 1 for group in self._groups)
        seconds = sum(group.seconds for group in self._groups)
        if count <= 0 or seconds <= 0:
            return None
        if self.training is not None and self.training.batch_size:
            return {"value": count / seconds * self.training.batch_size, "unit": "images/s"}
        return {"value": count / seconds, "unit": "steps/s"}

    def left_s(self) -> float | None:
        """As long as those before took, with all that came between them: validation, saving. The first was compiled."""
        progress, first = self.progress(), self._first
        last = self._groups[-1] if self._groups else None
        if progress["steps"] is None or last is None or first is None or last.last <= first.last:
            return None
        each_s = (last.at - first.at) / (last.last - first.last)
        return max(0.0, each_s * float(progress["steps"] - progress["step"]))


# Whether a run still goes on: its journal grows, or its watcher or its program is a process of this machine.


FRESH_S = 15.0  # a watcher writes every few seconds, whatever its program does
CLOCKS_DIFFER_S = 5.0
_WATCHER = re.compile(r"events-watcher-(\d+)\.jsonl")


def compute_late_s(run: RunFolder) -> float:
    """By which its journal may be behind: what comes through a bucket comes later."""
    return LATE_S if is_copy(run) else 0.0


def is_live(journals: Iterable[Path], newest: float, began_at: float, program_pid: int, now: float, late: float = 0.0) -> bool:
    """`newest`: when the journal was last written. `began_at`: when the program was started. `late`: of a copy, whose processes
    are those of another machine."""
    if now - newest < FRESH_S + late:
        return True
    if late:
        return False
    watchers = [int(found[1]) for path in journals if (found := _WATCHER.fullmatch(path.name))]
    is_watched = any(_is_process(pid, began_at, called="unstall") for pid in watchers)
    return is_watched or (program_pid > 0 and _is_process(program_pid, began_at))


def _is_process(pid: int, began_at: float, called: str = "") -> bool:
    """The number may belong to another process by now, or to one of another container: it began later, or is called otherwise."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or process.create_time() > began_at + CLOCKS_DIFFER_S:
            return False
        return not called or any(called in part for part in process.cmdline())
    except psutil.Error:
        return False
