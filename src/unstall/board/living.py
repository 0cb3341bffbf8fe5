"""Whether a run still goes on: its journal grows, or its watcher or its program is a process of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import psutil

from unstall.runs import RunFolder
from unstall.storage.mirroring import LATE_S, is_copy

FRESH_S = 15.0  # a watcher writes every few seconds, whatever its program does
CLOCKS_DIFFER_S = 5.0
_WATCHER = re.compile(r"events-watcher-(\d+)\.jsonl")


def late_s(run: RunFolder) -> float:
    """By which its journal may be behind: what comes through a bucket comes later."""
    return LATE_S if is_copy(run) else 0.0


def is_live(journals: Iterable[Path], newest: float, began_at: float, program_pid: int, now: float, late: float = 0.0) -> bool:
    """`newest`: when the journal was last written. `began_at`: when the program was started. `late`: of a copy, whose processes
    are those of another machine."""
    if now - newest < FRESH_S + late:
        return True
    if late:
        return False
    watchers = [int(found[1]) for path in journals if (found := _WATCHER.fullmatch(path.name))]
    is_watched = any(_is_process(pid, began_at, called="unstall") for pid in watchers)
    return is_watched or (program_pid > 0 and _is_process(program_pid, began_at))


def _is_process(pid: int, began_at: float, called: str = "") -> bool:
    """The number may belong to another process by now, or to one of another container: it began later, or is called otherwise."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE or process.create_time() > began_at + CLOCKS_DIFFER_S:
            return False
        return not called or any(called in part for part in process.cmdline())
    except psutil.Error:
        return False
