"""The whole story of a run: what the terminal says, and beside it the run over time, where it stood, and what it was.

It is the JSON of `unstall report`, and all that its page shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unstall.base.progress import Progress
from unstall.data.check import defects
from unstall.diagnosis.findings import Diagnosis, diagnose
from unstall.journal.events import Event, RunStarted
from unstall.journal.reader import JOURNAL_FILES, FolderTail, Journal, since
from unstall.journal.run_folder import RunFolder
from unstall.report.story import environment, stack_traces
from unstall.report.story.run import tell
from unstall.report.timeline import Timeline
from unstall.training.loop import artifacts


def tell_whole(run: RunFolder, journal: Journal, diagnosis: Diagnosis, timeline: Timeline) -> dict[str, Any]:
    story = timeline.exact(tell(journal, diagnosis, run.name), journal.now)
    return {
        **story,
        "since_last_good": (run.read_story() or {}).get("since_last_good"),  # found out when it ended
        "timeline": timeline.plain(journal.now),
        "stalls": stack_traces.stalls(journal, [verdict["where"] for verdict in story["verdicts"]]),
        "error": stack_traces.error(journal),
        "environment": environment.environment(journal),
        "model": environment.model(journal),
        "input": environment.inputs(journal),
        "settings": artifacts.settings(run),
        "data_defects": defects.of_run(run),
        "score": artifacts.score(run),
        "pictures": artifacts.pictures(run),
    }


# A run folder read once, from its first event to its last: into a journal, which is bounded, and over time, which is too.


AT_ONCE = 2000  # events
BYTES_OF_AN_EVENT = 350  # about: for the bar only


def read_whole(run: RunFolder, progress: Progress | None = None) -> dict[str, Any]:
    journal, timeline, count = Journal(), Timeline(), 0
    expected = sum(path.stat().st_size for path in run.path.glob(JOURNAL_FILES)) // BYTES_OF_AN_EVENT
    tail = FolderTail(run.path)
    for events in some_at_once(tail.stream(), AT_ONCE):
        journal = extend_journal(journal, events)
        timeline.extend(events)
        count += len(events)
        if progress is not None:
            progress("reading the journal", count, max(expected, count))
    tail.judge(journal)
    return tell_whole(run, journal, diagnose(journal), timeline)


def extend_journal(journal: Journal, events: list[Event]) -> Journal:
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
