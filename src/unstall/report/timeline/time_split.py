"""Where the time of a run went, over the run; and how long a step took.

The sums are those of the time split on the terminal (`diagnosis/run_summary.py`): a group of steps is divided into input and
compute, the first step is compilation, or the trace in a first call of many, and what nobody accounts for is other. A run that
was interrupted and went on later was away in between.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from unstall.diagnosis.run_summary import measure_compile_seconds, measure_input_seconds
from unstall.journal.events import (
    CheckpointSaved,
    Event,
    FunctionTraced,
    PhaseEnded,
    RunStarted,
    StallBegan,
    StallEnded,
    StepsEnded,
)
from unstall.report.timeline.plots import Plot, Series, Spans, create_area_plot, create_line_plot

KINDS = ("compute", "input", "validation", "checkpoint", "compile", "stuck", "away", "other")  # from the bottom of the plot
AWAY_OVER_S = 60.0  # without an event: a watcher writes every few seconds, so nobody was there
MAX_BINS = 1200
MAX_POINTS = 1000
MAX_TRACES = 200
NOT_MEASURED = "The wait for input was not measured in this run: it is part of compute."
WHAT_IT_IS = "Shares of the time that passed."


class TimeSplit:
    def __init__(self) -> None:
        self._spans = Spans(KINDS, MAX_BINS)
        self._step_seconds = Series(MAX_POINTS)
        self._steps = Series(MAX_POINTS)
        self._stalled_at: float | None = None
        self._is_input_measured = False
        self._last = 0.0
        self._traces: deque[FunctionTraced] = deque(maxlen=MAX_TRACES)  # the newest
        self._silence: tuple[float, float] | None = None  # from when to when nothing was told, and nothing of the program since

    def take(self, event: Event, moment: float) -> None:
        self._take_silence(event, moment)
        if isinstance(event, StepsEnded):
            self._take_steps(event, moment)
        elif isinstance(event, FunctionTraced):
            self._traces.append(event)
        elif isinstance(event, PhaseEnded) and event.phase == "validate":
            self._spans.add("validation", moment - event.seconds, moment, min(event.seconds, moment))
        elif isinstance(event, CheckpointSaved):
            self._spans.add("checkpoint", moment - event.seconds, moment, min(event.seconds, moment))
        elif isinstance(event, StallBegan):
            self._stalled_at = max(0.0, moment - (event.at - event.since))
        elif isinstance(event, StallEnded):
            self._stalled_at = None
        elif isinstance(event, RunStarted) and self._stalled_at is not None:  # it was ended, and another one begins
            self._spans.add("stuck", self._stalled_at, moment, moment - self._stalled_at)
            self._stalled_at = None

    def _take_silence(self, event: Event, moment: float) -> None:
        """Before another program of the same run is started it is the time that the run lay: in a queue, say."""
        if moment - self._last > AWAY_OVER_S:
            self._silence = (self._last, moment)
        self._last = max(self._last, moment)
        if self._silence is not None and isinstance(event, RunStarted):
            began, ended = self._silence
            self._spans.add("away", began, ended, ended - began)
            if self._stalled_at is not None and self._stalled_at < began:
                self._spans.add("stuck", self._stalled_at, began, began - self._stalled_at)
            self._stalled_at = None
        if isinstance(event, RunStarted | StepsEnded | PhaseEnded | CheckpointSaved):
            self._silence = None

    def _take_steps(self, group: StepsEnded, moment: float) -> None:
        if group.phase != "train":
            return
        began = moment - group.seconds
        count = group.last - group.first + 1
        self._steps.add(moment, group.last + 1)
        if group.first == 0:
            compiling = measure_compile_seconds(group, self._traces)
            ended = moment if compiling >= group.busy_s else min(moment, began + compiling)
            self._spans.add("compile", began, ended, compiling)
            self._spans.add("compute", ended, moment, group.busy_s - compiling)
            return
        waiting = measure_input_seconds([group])
        self._is_input_measured = self._is_input_measured or waiting is not None
        inside = min(group.seconds, group.busy_s + (group.wait_s or 0.0))
        self._spans.add("input", began, moment, waiting or 0.0)
        self._spans.add("compute", began, moment, inside - (waiting or 0.0))
        if count > 0:
            self._step_seconds.add(moment, group.seconds / count, group.longest_s)

    def steps(self) -> dict[str, Any]:
        """How many steps were done at each moment."""
        return self._steps.plain()

    def plots(self, seconds: float) -> list[Plot | None]:
        return [
            self._areas(seconds),
            create_line_plot("step_time", "Time of a step", "s", {"a step": self._step_seconds}, seconds),
        ]

    def split(self, seconds: float) -> dict[str, float | None]:
        """Of all events, where a journal in memory keeps some: the sums of `summarize_time`."""
        plain: dict[str, float | None] = {kind: sum(sums) for kind, sums in self._up_to(seconds).sums.items()}
        return {**plain, "input": plain["input"] if self._is_input_measured else None, "total": seconds}

    def _up_to(self, seconds: float) -> Spans:
        """With what is only known now: the stall that goes on, and what is left."""
        spans = self._spans.copy()
        if self._stalled_at is not None and self._stalled_at < seconds:
            spans.add("stuck", self._stalled_at, seconds, seconds - self._stalled_at)
        spans.fill_up("other", seconds)
        return spans

    def _areas(self, seconds: float) -> Plot | None:
        if not any(self._spans.sums.values()) and self._stalled_at is None:
            return None
        spans = self._up_to(seconds)
        note = WHAT_IT_IS if self._is_input_measured else f"{WHAT_IT_IS} {NOT_MEASURED}"
        return create_area_plot("time", "Where the time went", spans.width_s, seconds, spans.sums, note)
