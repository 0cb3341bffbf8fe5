"""The error that ended a program: its texts, and the user's own line in it."""

from __future__ import annotations

from unstall.diagnosis.loops import not_inside
from unstall.diagnosis.stacks import is_user_file, where
from unstall.diagnosis.verdict import Unknown
from unstall.journal.events import ErrorRaised, FrameworkLoaded, ProcessEnded
from unstall.journal.reader import Journal


def fatal_error(journal: Journal) -> ErrorRaised | None:
    """The error that reached the top. One that the program caught is its own affair."""
    ended = journal.last(ProcessEnded)
    if ended is not None and ended.exit_code == 0:
        return None
    return next((error for error in reversed(journal.of(ErrorRaised)) if error.fatal), None)


def unseen_end(journal: Journal) -> Unknown | None:
    """For a program that failed with nothing inside it to see why."""
    ended = journal.last(ProcessEnded)
    if ended is None or not ended.exit_code:
        return None
    if journal.first(FrameworkLoaded) is not None or journal.first(ErrorRaised) is not None:
        return None
    return not_inside(journal)


def texts(error: ErrorRaised) -> list[str]:
    """The error and those that led to it, each as 'kind: message', the last first."""
    return [f"{error.kind}: {error.message}", *error.chain]


def user_line(error: ErrorRaised, folder: str) -> str | None:
    """The innermost line of the user's own in the traceback."""
    return next((where(frame, folder) for frame in error.frames if is_user_file(frame["file"])), None)


def first_line(text: str) -> str:
    """The line of an error's text that says most: frameworks put their own words around it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0] if lines else text)[:300]
