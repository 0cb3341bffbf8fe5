"""A run over time, as plots, marks and tables of a bounded size: one file for each part of it.

A part takes events as they come (`take`) and gives its plots as plain data (`plots`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from unstall.journal.events import Event
from unstall.journal.reader import Journal
from unstall.report.timeline.marks import Marks
from unstall.report.timeline.plots import Plot
from unstall.report.timeline.sections import Input, Memory, Numbers, Weights
from unstall.report.timeline.time_split import TimeSplit

__all__ = ["Timeline", "build_timeline"]


class Part(Protocol):
    def take(self, event: Event, moment: float) -> None:
        """`moment` is in seconds from the begin of the run."""

    def plots(self, seconds: float) -> list[Plot | None]:
        """Of a run that has taken so long; None where nothing was seen."""


class Timeline:
    def __init__(self) -> None:
        self.began: float | None = None
        self._last_at = 0.0
        self._marks = Marks()
        self._spent = TimeSplit()
        self._memory = Memory()
        self._parts: tuple[Part, ...] = (self._spent, Numbers(), Weights(), self._memory, Input())

    def extend(self, events: Iterable[Event]) -> None:
        """In order of time, as far as that is known: the first one is the begin of the run."""
        for event in events:
            if self.began is None:
                self.began = event.at
            self._last_at = max(self._last_at, event.at)
            moment = self._moment(event.at)
            for part in self._parts:
                part.take(event, moment)
            self._marks.take(event, moment)

    def _moment(self, at: float) -> float:
        return max(0.0, at - (self.began or 0.0))

    def exact(self, story: dict[str, Any], now: float) -> dict[str, Any]:
        """The story with the sums of the whole run: a long one is thinned out in the journal that it was told from."""
        if self.began is None:
            return story
        seconds = self._moment(max(now, self._last_at))
        return {**story, "time": self._spent.split(seconds), "memory": self._memory.peaks(story["memory"])}

    def plain(self, now: float | None = None) -> dict[str, Any]:
        """Moments are seconds from `began`. `now`: up to when the run is known, where that is later than its last event."""
        seconds = self._moment(max(now or 0.0, self._last_at))
        return {
            "began": self.began,
            "seconds": seconds,
            "plots": [plot for part in self._parts for plot in part.plots(seconds) if plot is not None],
            "marks": self._marks.plain(seconds),
            "steps": self._spent.steps(),
        }


def build_timeline(journal: Journal) -> Timeline:
    timeline = Timeline()
    timeline.extend(journal.all())
    return timeline
