"""The processes below the program: which of them were forked, and so go on from a copy of its memory."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from unstall.journal.events import ChildSeen

_START_CODE, _START_STACK = 26 - 3, 28 - 3  # fields of /proc/PID/stat, counted from the one after the name
LONGEST_COMMAND = 20


def sample(pids: Iterable[int]) -> list[ChildSeen]:
    return [seen for pid in pids if (seen := look(pid)) is not None]


def look(pid: int) -> ChildSeen | None:
    """None when it is gone."""
    fields = _stat(pid)
    if fields is None:
        return None
    parent = int(fields[1])
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:LONGEST_COMMAND]
    except OSError:
        command = []
    return ChildSeen(
        at=time.time(), pid=pid, parent_pid=parent, forked=is_forked(pid, parent), command=[part for part in command if part]
    )


def is_forked(pid: int, parent: int) -> bool | None:
    """Whether the process runs in the memory layout of its parent. A program that was started anew has its own, by chance
    of address randomisation. None where the kernel does not tell."""
    own, others = _stat(pid), _stat(parent)
    if own is None or others is None or not _addresses_are_random():
        return None
    mine = (int(own[_START_CODE]), int(own[_START_STACK]))
    theirs = (int(others[_START_CODE]), int(others[_START_STACK]))
    if min(*mine, *theirs) <= 1:
        return None  # hidden from us
    return mine == theirs


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
        fields = text[text.rindex(")") + 2 :].split()
    except (OSError, ValueError):
        return None
    return fields if len(fields) > _START_STACK else None


def _addresses_are_random() -> bool:
    try:
        return Path("/proc/sys/kernel/randomize_va_space").read_text().strip() != "0"
    except OSError:
        return False
