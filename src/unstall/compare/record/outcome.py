"""What was run, when, and how it ended."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from unstall.base.exit_codes import INTERRUPTED
from unstall.compare.record.journal_summary import JournalSummary
from unstall.journal.events import (
    TERMINATION_SIGNALS,
    CircumstancesSeen,
    ErrorRaised,
    ProcessEnded,
    ProgramEnded,
    ProgramStarted,
    RunStarted,
    SignalSent,
    SourcesCopied,
    StallBegan,
    StallEnded,
    VerdictReached,
)
from unstall.journal.run_folder import RunFolder
from unstall.sensors.environment import script_of

FRESH_S = 60.0  # a journal that was written to so lately may be that of a run which goes on


def run(folder: RunFolder, taken: JournalSummary) -> dict[str, Any]:
    started, program, ended = taken.first(RunStarted), taken.first(ProgramStarted), taken.last(ProcessEnded)
    command = started.command if started else program.argv if program else []
    where = started.folder if started else ""
    began = started.at if started else taken.began_at
    last = ended.at if ended else taken.last_at
    return {
        "name": folder.name,
        "path": str(folder.path),
        "mode": started.mode if started else "",
        "script": _script(taken, command, where),
        "command": command,
        "folder": where,
        "began_at": began,
        "ended_at": last if ended else None,
        "seconds": max(0.0, last - began) if last is not None and began is not None else None,
        "outcome": outcome(taken),
        "exit_code": ended.exit_code if ended else None,
        "signal": ended.signal if ended else None,
        "cause": cause(folder, taken),
        "error": _error(taken),
        "unstall": started.version if started else "",
    }


def _script(taken: JournalSummary, command: list[str], folder: str) -> str:
    seen, copied = taken.first(CircumstancesSeen), taken.last(SourcesCopied)
    if seen is not None and seen.script:
        return seen.script
    if copied is not None and copied.script:
        return str(Path(copied.folder, copied.script))
    return script_of(command, folder)


def outcome(taken: JournalSummary) -> str:
    """done | failed | stuck | interrupted | running | unknown. Where nobody saw how it ended, it is not called done."""
    if taken.last_at is None:
        return "unknown"  # nothing of its journal could be read
    ended = taken.last(ProcessEnded)
    if ended is None:
        return _without_end(taken)
    if ended.exit_code == 0 and not (_stood_still(taken, ended.at) and _was_interrupted(taken, ended)):
        return "done"
    if ended.stopped_by_us or _stood_still(taken, ended.at):
        return "stuck"
    if _was_interrupted(taken, ended):
        return "interrupted"
    if ended.exit_code is None and ended.signal is None:  # the watcher was not its parent
        if _fatal(taken) is not None:
            return "failed"
        return "done" if taken.last(ProgramEnded) is not None else "interrupted"
    return "failed"


def _without_end(taken: JournalSummary) -> str:
    if _fatal(taken) is not None:
        return "failed"
    started, program = taken.last(RunStarted), taken.last(ProgramStarted)
    pid = started.pid if started else program.pid if program else 0
    is_fresh = taken.last_at is not None and time.time() - taken.last_at < FRESH_S
    if is_fresh and pid and Path(f"/proc/{pid}").exists():
        return "running"
    return "stuck" if _stood_still(taken, taken.last_at or 0.0) else "interrupted"


def _stood_still(taken: JournalSummary, at: float) -> bool:
    """A stall that lasted to the end, and is more than a guess."""
    began, over = taken.last(StallBegan), taken.last(StallEnded)
    return began is not None and began.sure and (over is None or over.at < began.at) and began.at <= at


def _was_interrupted(taken: JournalSummary, ended: ProcessEnded) -> bool:
    started, fatal = taken.last(RunStarted), _fatal(taken)
    if started is not None and started.mode == "train" and ended.exit_code == INTERRUPTED:
        return True
    if fatal is not None and fatal.kind == "KeyboardInterrupt":
        return True
    was_asked = any(event.asks_for_the_end for event in taken.of(SignalSent))
    return ended.signal in TERMINATION_SIGNALS or was_asked


def _fatal(taken: JournalSummary) -> ErrorRaised | None:
    fatal = [error for error in taken.of(ErrorRaised) if error.fatal and error.thread in {"", "MainThread"}]
    return fatal[-1] if fatal else None


def _error(taken: JournalSummary) -> dict[str, Any] | None:
    fatal = _fatal(taken)
    return {"kind": fatal.kind, "message": fatal.message, "step": fatal.step, "phase": fatal.phase} if fatal else None


def cause(folder: RunFolder, taken: JournalSummary) -> str:
    """The first verdict of the final story; of a run without one, the last that was reached."""
    story = folder.read_story() or {}
    verdicts = story.get("verdicts")
    if isinstance(verdicts, list):
        first = verdicts[0] if verdicts else {}
        return str(first.get("cause", "")) if isinstance(first, dict) else ""
    reached = taken.last(VerdictReached)
    return reached.cause if reached else ""
