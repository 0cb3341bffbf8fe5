"""Finding the processes that run Python among some."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def is_python(pid: int) -> bool:
    """By the program that runs, or by libpython in its memory map (an embedded interpreter)."""
    try:
        program = Path(f"/proc/{pid}/exe").readlink().name
        if program.startswith("python") or program.startswith("pypy"):
            return True
        return "libpython" in Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return False


def python_processes(pids: Iterable[int]) -> list[int]:
    return [pid for pid in pids if is_python(pid)]


def other_program(pid: int) -> str | None:
    """The name of a program that is surely not Python; None of one that is, or that we may not look at."""
    try:
        name = Path(f"/proc/{pid}/exe").readlink().name
        Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return None
    return None if is_python(pid) else name
