"""One pass over the journals of a run: of most kinds of events a few are kept, of the many only what they add up to."""

from __future__ import annotations

from typing import TypeVar, cast

from unstall.compare.recorded.course import Course
from unstall.journal.events import (
    DeviceSampled,
    EpochEnded,
    Event,
    PhaseBegan,
    PhaseEnded,
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


class Taken:
    """The first and the last of each kind of event, in order; the course of the run in figures."""

    def __init__(self) -> None:
        self._first: dict[type[Event], list[Event]] = {}
        self._last: dict[type[Event], list[Event]] = {}
        self.course = Course()
        self.began_at: float | None = None
        self.last_at: float | None = None

    def take(self, event: Event) -> None:
        if event.at > 0:
            self.began_at = event.at if self.began_at is None else min(self.began_at, event.at)
            self.last_at = event.at if self.last_at is None else max(self.last_at, event.at)
        self.course.take(event, event.at - (self.began_at or event.at))
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
