"""The whole story of one run, followed while it goes on: read as `unstall report` reads it, and then only what is new.

Causes are asked when the watcher has asked them, too (it writes the story then), or when something has changed for good; in
between the verdicts stand as they were. While a run moves, only verdicts are shown that were reached twice, as on the terminal.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from unstall.board.rows import SEEN_TWICE_S, Row
from unstall.diagnosis.findings import Diagnosis, diagnose
from unstall.diagnosis.verdict import Certainty
from unstall.journal.events import ErrorRaised, ProcessEnded, RunStarted, StallBegan, StallEnded, VerdictReached
from unstall.journal.reader import FolderTail, Journal
from unstall.journal.run_folder import RunFolder
from unstall.report.html.page import OnBoard, render_run
from unstall.report.story.report import AT_ONCE, build_full_story, extend_journal, read_in_chunks
from unstall.report.timeline import Timeline

LOOK_EVERY_S = 0.8
MAX_FOLLOWED = 8  # at once: each holds a journal and the run over time
TURNS = (ErrorRaised, ProcessEnded, RunStarted, StallBegan, StallEnded, VerdictReached)  # after which causes are asked again
MOVES = frozenset({"training", "running", "starting", "repaired", "slow"})


class FollowedRun:
    """One run, for as many pages as show it."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.lock = threading.Lock()
        self._tail = FolderTail(run.path)
        self._journal = Journal()
        self._timeline = Timeline()
        self._count = 0  # of events
        self._diagnosis: Diagnosis | None = None
        self._asked: object = None
        self._looked_at = 0.0
        self._shown: object = None
        self.story: dict[str, Any] = {}
        self.page = ""

    def follow(self, row: Row) -> None:
        """Brings story and page up to date, as far as something has changed."""
        if time.monotonic() - self._looked_at < LOOK_EVERY_S:
            return
        has_turned = self._read()
        self._looked_at = time.monotonic()
        self._tail.judge(self._journal)
        shown = (self._count, self._journal.unread, row["state"], row["stalled_s"], self._story_at(), _written_at(self.run))
        if shown == self._shown:
            return
        self._journal.now = time.time() if row["is_live"] else 0.0
        self._ask_causes(has_turned)
        assert self._diagnosis is not None
        plain = build_full_story(self.run, self._journal, self._standing(self._diagnosis, row), self._timeline)
        self.story = {**plain, "state": plain["state"] if row["state"] == "unknown" else row["state"]}
        self.page = render_run(self.story, OnBoard(is_live=row["is_live"], note=row["note"]))
        self._shown = shown

    def _read(self) -> bool:
        """What is new. Whether something has changed for good."""
        has_turned = False
        for events in read_in_chunks(self._tail.stream(), AT_ONCE):
            self._journal = extend_journal(self._journal, events)
            self._timeline.extend(events)
            self._count += len(events)
            has_turned = has_turned or any(isinstance(event, TURNS) for event in events)
        return has_turned

    def _ask_causes(self, has_turned: bool) -> None:
        asked = self._story_at()
        if self._diagnosis is None or asked != self._asked or has_turned:
            self._diagnosis, self._asked = diagnose(self._journal), asked

    def _standing(self, diagnosis: Diagnosis, row: Row) -> Diagnosis:
        if row["state"] not in MOVES:
            return diagnosis
        reached: dict[str, float] = {}
        for event in self._journal.of(VerdictReached):
            reached.setdefault(event.cause, event.at)
        now = self._journal.now
        kept = tuple(
            finding
            for finding in diagnosis.findings
            if finding.found.certainty >= Certainty.LIKELY and now - reached.get(finding.cause, now) > SEEN_TWICE_S
        )
        return replace(diagnosis, findings=kept)

    def _story_at(self) -> float:
        try:
            return self.run.story_path.stat().st_mtime
        except OSError:
            return 0.0


class Follower:
    """The runs whose pages are looked at; those that nobody has asked for longest are let go."""

    def __init__(self) -> None:
        self._followed: OrderedDict[str, FollowedRun] = OrderedDict()
        self._lock = threading.Lock()

    def follow(self, run: RunFolder, row: Row) -> tuple[str, dict[str, Any]]:
        """Its page and its story, as they are now."""
        with self._lock:
            followed = self._followed.pop(run.name, None) or FollowedRun(run)
            self._followed[run.name] = followed
            while len(self._followed) > MAX_FOLLOWED:
                self._followed.popitem(last=False)
        with followed.lock:
            followed.follow(row)
            return followed.page, followed.story

    def forget(self, name: str) -> None:
        with self._lock:
            self._followed.pop(name, None)


def _written_at(run: RunFolder) -> tuple[float, ...]:
    """When the files of a training were written that its page shows beside the journal."""
    times = []
    for path in (run.settings_path, run.score_path, run.predictions_path):
        try:
            times.append(path.stat().st_mtime)
        except OSError:
            times.append(0.0)
    return tuple(times)
