"""A run folder read once, from its first event to its last: into a journal, which is bounded, and over time, which is too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unstall.diagnosis.diagnose import diagnose
from unstall.journal.events import Event, RunStarted
from unstall.journal.reader import JOURNAL_FILES, FolderTail, Journal, since
from unstall.report.progress import Progress
from unstall.report.timeline import Timeline
from unstall.report.whole import tell_whole
from unstall.runs import RunFolder

AT_ONCE = 2000  # events
BYTES_OF_AN_EVENT = 350  # about: for the bar only


def read_whole(run: RunFolder, progress: Progress | None = None) -> dict[str, Any]:
    journal, timeline, count = Journal(), Timeline(), 0
    expected = sum(path.stat().st_size for path in run.path.glob(JOURNAL_FILES)) // BYTES_OF_AN_EVENT
    tail = FolderTail(run.path)
    for events in some_at_once(tail.stream(), AT_ONCE):
        journal = extended(journal, events)
        timeline.extend(events)
        count += len(events)
        if progress is not None:
            progress("reading the journal", count, max(expected, count))
    tail.judge(journal)
    return tell_whole(run, journal, diagnose(journal), timeline)


def extended(journal: Journal, events: list[Event]) -> Journal:
    """The journal with these events, too: as `read_folder` has it, causes look at the newest worker of a training alone."""
    for event in events:
        if isinstance(event, RunStarted) and event.mode == "train" and journal.first(RunStarted) is not None:
            journal = Journal(since(journal.all(), event.at))
        journal.extend([event])
    return journal


def some_at_once(events: Iterator[Event], count: int) -> Iterator[list[Event]]:
    some: list[Event] = []
    for event in events:
        some.append(event)
        if len(some) == count:
            yield some
            some = []
    yield some
