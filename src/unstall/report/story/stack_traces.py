"""Where a program stood: its stacks at each stall and at the error that ended it, the user's own lines before all others."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from unstall.diagnosis.fatal_error import fatal_error
from unstall.journal.events import Frame, SourceRead, StackSampled, StallBegan, StallEnded, ThreadStack
from unstall.journal.reader import Journal
from unstall.journal.stack_frames import is_native, is_user_file, place, program_folder

MAX_STALLS = 4
MAX_THREADS = 10
MAX_FRAMES = 40
MAX_LETTERS = 240  # of a name
MAX_MESSAGE = 4000


def stalls(journal: Journal, named: Collection[str | None] = ()) -> list[dict[str, Any]]:
    """The last ones first. `named` are the places that the verdicts name: the threads that stand there come before all others."""
    told = []
    ends = journal.of(StallEnded)
    for began in reversed(journal.of(StallBegan)[-MAX_STALLS:]):
        ended = next((event for event in ends if event.at >= began.at), None)
        until = ended.at if ended is not None else journal.now
        told.append(
            {
                "at": began.since,
                "phase": began.phase,
                "step": began.step if began.step >= 0 else None,
                "seconds": max(0.0, until - began.since),
                "goes_on": ended is None,
                "threads": _threads(journal, began.since, until, named),
            }
        )
    return told


def _threads(journal: Journal, since: float, until: float, named: Collection[str | None]) -> list[dict[str, Any]]:
    """The last sample of each process, with native frames if there is one. Threads in which the user's code stands come first."""
    samples: dict[int, StackSampled] = {}
    for sample in journal.of(StackSampled):
        known = samples.get(sample.pid)
        if since <= sample.at <= until and (known is None or sample.native or not known.native):
            samples[sample.pid] = sample
    source = _source(journal)
    folder = program_folder(journal)
    rows = [_thread(thread, sample, source, folder) for sample in samples.values() for thread in sample.threads]
    rows.sort(
        key=lambda row: (
            not any(frame["where"] in named for frame in row["user_frames"]),
            not row["user_frames"],
            not row["main"],
        )
    )
    return rows[:MAX_THREADS]


def _source(journal: Journal) -> dict[tuple[str, int], str]:
    return {(read.file, read.line): read.text for read in journal.of(SourceRead)}


def _thread(thread: ThreadStack, sample: StackSampled, source: dict[tuple[str, int], str], folder: str) -> dict[str, Any]:
    return {
        "name": thread["name"][:MAX_LETTERS] or f"thread {thread['id']}",
        "main": sample.main and thread["name"] == "MainThread",
        "pid": sample.pid,
        "active": thread["active"],
        **_told(thread["frames"], source, folder),
    }


def _told(frames: list[Frame], source: dict[tuple[str, int], str], folder: str) -> dict[str, Any]:
    """All frames, innermost first, and those of the user's own again, with the text of their lines as far as it was read."""
    rows = [_frame(frame, source, folder) for frame in frames]
    return {
        "user_frames": [row for row in rows if row["is_user_code"]][:MAX_FRAMES],
        "frames": rows[:MAX_FRAMES],
        "frames_left_out": max(0, len(rows) - MAX_FRAMES),
    }


def _frame(frame: Frame, source: dict[tuple[str, int], str], folder: str) -> dict[str, Any]:
    native = is_native(frame)
    return {
        "function": frame["function"][:MAX_LETTERS],
        "where": frame["module"] if native else place(frame["file"], frame["line"], folder),
        "is_user_code": not native and is_user_file(frame["file"]),
        "text": source.get((frame["file"], frame["line"]), "")[:MAX_LETTERS],
    }


def error(journal: Journal) -> dict[str, Any] | None:
    """The error that ended the program."""
    fatal = fatal_error(journal)
    if fatal is None:
        return None
    return {
        "at": fatal.at,
        "kind": fatal.kind,
        "message": fatal.message[:MAX_MESSAGE],
        "chain": [text[:MAX_MESSAGE] for text in fatal.chain[:5]],
        "thread": fatal.thread,
        **_told(fatal.frames, _source(journal), program_folder(journal)),
    }
