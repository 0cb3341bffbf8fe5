"""The whole story of a run: what the terminal says, and beside it the run over time, where it stood, and what it was.

It is the JSON of `unstall report`, and all that its page shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unstall.base.console import Progress
from unstall.base.exit_codes import ExitCode
from unstall.config.aliases import update_names
from unstall.data.check import defects
from unstall.diagnosis.findings import Diagnosis, diagnose
from unstall.journal.events import Event, RunStarted
from unstall.journal.reader import JOURNAL_FILES, FolderTail, Journal, select_since
from unstall.journal.run_folder import RunFolder
from unstall.report.story import environment, threads
from unstall.report.story.run import build_story
from unstall.report.timeline import Timeline
from unstall.training import summary


def build_full_story(run: RunFolder, journal: Journal, diagnosis: Diagnosis, timeline: Timeline) -> dict[str, Any]:
    story = timeline.exact(build_story(journal, diagnosis, run.name), journal.now)
    return {
        **story,
        "since_last_good": (run.read_story() or {}).get("since_last_good"),  # found out when it ended
        "timeline": timeline.plain(journal.now),
        "stalls": threads.list_stalls(journal, [verdict["where"] for verdict in story["verdicts"]]),
        "error": threads.describe_error(journal),
        "environment": environment.describe_environment(journal),
        "model": environment.describe_model(journal),
        "input": environment.describe_inputs(journal),
        "settings": summary.read_settings(run),
        "data_defects": defects.read_run_defects(run),
        "score": summary.read_score(run),
        "pictures": summary.list_pictures(run),
    }


# A run folder read once, from its first event to its last: into a journal, which is bounded, and over time, which is too.


AT_ONCE = 2000  # events
BYTES_OF_AN_EVENT = 350  # about: for the bar only


def read_whole(run: RunFolder, progress: Progress | None = None) -> dict[str, Any]:
    journal, timeline, count = Journal(), Timeline(), 0
    expected = sum(path.stat().st_size for path in run.path.glob(JOURNAL_FILES)) // BYTES_OF_AN_EVENT
    tail = FolderTail(run.path)
    for events in read_in_chunks(tail.stream(), AT_ONCE):
        journal = extend_journal(journal, events)
        timeline.extend(events)
        count += len(events)
        if progress is not None:
            progress("reading the journal", count, max(expected, count))
    tail.judge(journal)
    return build_full_story(run, journal, diagnose(journal), timeline)


def extend_journal(journal: Journal, events: list[Event]) -> Journal:
    """The journal with these events, too: as `read_folder` has it, causes look at the newest worker of a training alone."""
    for event in events:
        if isinstance(event, RunStarted) and event.mode == "train" and journal.first(RunStarted) is not None:
            journal = Journal(select_since(journal.all(), event.at))
        journal.extend([event])
    return journal


def read_in_chunks(events: Iterator[Event], count: int) -> Iterator[list[Event]]:
    some: list[Event] = []
    for event in events:
        some.append(event)
        if len(some) == count:
            yield some
            some = []
    yield some


# How a training went, as plain data: its score, its files, its story.


def describe_training(run: RunFolder, exit_code: int, preflight: dict[str, Any]) -> dict[str, Any]:
    titles = {exit_code_kind.value: exit_code_kind.title for exit_code_kind in ExitCode}
    return {
        "run": run.name,
        "folder": str(run.path),
        "exit_code": exit_code,
        "exit_name": titles.get(exit_code, "failed"),
        "score": _stored(run),
        "files": _files(run),
        "settings": update_names(run.read_settings()),
        "preflight": preflight,
        "story": run.read_story(),
    }


def _stored(run: RunFolder) -> dict[str, Any] | None:
    """None where nothing was scored yet."""
    try:
        score: dict[str, Any] = json.loads(run.score_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return score


def _files(run: RunFolder) -> dict[str, str]:
    """Those that there are."""
    paths = {
        "best_weights": run.best_weights_path,
        "last_weights": run.last_weights_path,
        "history": run.history_path,
        "predictions": run.predictions_path,
        "tensorboard": run.tensorboard_path,
        "checkpoints": run.checkpoints_path,
        "report": run.report_path,
    }
    return {name: str(path) for name, path in paths.items() if path.exists()}
