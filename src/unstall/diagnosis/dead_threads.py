"""Threads of the program that ended with an error, shortly before it stood still or while it did."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unstall.base.formatting import format_count
from unstall.diagnosis.errors.fatal_error import find_user_line, get_error_text
from unstall.diagnosis.stalls import Stall, StuckThread
from unstall.diagnosis.thread_waits import find_wait
from unstall.diagnosis.verdict import Evidence
from unstall.journal.events import ErrorRaised, StepsEnded
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import select_user_frames

NEAR_S = 60.0  # before the last progress: what a thread has made may last for a while
MAX_FAILED = 3
FOR_A_THREAD = (
    "a queue",
    "a future",
    "a thread to end",
    "an event that another thread must set",
    "another thread",
)  # what a thread of the same process has to do
_WAITED_FOR = re.compile(r"(?P<name>\w+)\.(?:get|wait|wait_for|result|join)\b")


@dataclass(frozen=True)
class DeadThread:
    error: ErrorRaised
    before_s: float  # the last progress; below 0: after it
    folder: str

    @property
    def name(self) -> str:
        return self.error.thread

    @property
    def where(self) -> str | None:
        return find_user_line(self.error, self.folder)

    @property
    def words(self) -> str:
        """Loader-1 ended with ValueError: no label, at loader.py:31, 1 s before the last progress"""
        at = f", at {self.where}" if self.where else ""
        way = "before" if self.before_s >= 0 else "after"
        seconds = abs(self.before_s)
        when = f"{seconds:.0f} s {way} the last progress" if seconds >= 1 else "within a second of the last progress"
        return f"{self.name} ended with {get_error_text(self.error).line.rstrip('.')}{at}, {when}"

    @property
    def evidence(self) -> Evidence:
        return Evidence(f"thread {self.words}", self.name, None, (self.error,))


def find_dead_threads(journal: Journal, stall: Stall, folder: str) -> list[DeadThread]:
    """The newest first."""
    since, until = stall.began.since, stall.began.since + stall.seconds
    errors = [
        error
        for error in journal.of(ErrorRaised)
        if not error.fatal and error.thread not in {"", "MainThread"} and since - NEAR_S <= error.at <= until
    ]
    return [DeadThread(error, since - error.at, folder) for error in reversed(errors)]


def find_failed_threads(journal: Journal, but: list[DeadThread], folder: str) -> list[str]:
    """Of a training that went on: 'loader ended with KeyError: 300, at load.py:8, after 300 steps', the first ones."""
    known = {id(dead.error) for dead in but}
    errors = [
        error
        for error in journal.of(ErrorRaised)
        if not (error.fatal or error.caught or id(error) in known) and error.thread not in {"", "MainThread"}
    ]
    return [_words_of_failed(journal, error, folder) for error in errors[:MAX_FAILED]]


def _words_of_failed(journal: Journal, error: ErrorRaised, folder: str) -> str:
    where = find_user_line(error, folder)
    at = f", at {where}" if where else ""
    made = [group.last + 1 for group in journal.of(StepsEnded) if group.phase == "train" and group.at <= error.at]
    when = f", after {format_count(made[-1], 'step')} or more" if made else ""
    return f"{error.thread} ended with {get_error_text(error).line.rstrip('.')}{at}{when}"


def list_dead_thread_evidence(journal: Journal, stall: Stall, still: StuckThread, folder: str) -> list[Evidence]:
    """The dead threads as evidence, where a thread waits for what another thread would do."""
    if not still.is_main or find_wait(still.thread, still.call) not in FOR_A_THREAD:
        return []
    return [dead.evidence for dead in find_dead_threads(journal, stall, folder)[:2]]


def find_awaited_name(stall: Stall, still: StuckThread) -> str | None:
    """The name, in the line at which the thread stands, of what it waits for: `ready` in `batch = ready.get()`."""
    frames = select_user_frames(still.thread)
    source = stall.source(frames[0]["file"], frames[0]["line"]) if frames else None
    match = _WAITED_FOR.search(source.text) if source is not None else None
    return match["name"] if match else None
