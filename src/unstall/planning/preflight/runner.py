"""Asks the checks in a process of their own. One that crashes or falls silent is unknown; the others are asked all the same."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from unstall.base.console import Progress
from unstall.base.processes import kill_tree
from unstall.config.settings import Settings
from unstall.config.settings import as_plain as settings_as_plain
from unstall.planning.preflight.check import CheckUnknown, as_plain, count_by_status
from unstall.planning.preflight.checks import check_names, list_quick_names

MAX_SILENT_S = 300.0  # a check that neither answers nor gets further for so long is given up: storage that hangs, say


def ask(settings: Settings, folder: Path, is_quick: bool = False, progress: Progress | None = None) -> list[dict[str, Any]]:
    """The result of each check, as plain data, in the order of asking."""
    names = list(list_quick_names() if is_quick else check_names())
    results: list[dict[str, Any]] = []
    while left := names[len(results) :]:
        known = {result["check"]: result["status"] for result in results}
        question = {
            "settings": settings_as_plain(settings), "folder": str(folder), "is_quick": is_quick, "checks": left, "known": known,
        }  # fmt: skip
        results += _ask(question, progress)
    return results


def _ask(question: dict[str, Any], progress: Progress | None) -> list[dict[str, Any]]:
    """As many results as one process gave; where it ended early, the check that it was at is not known."""
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as complaints:
        command = [sys.executable, "-m", "unstall.planning.preflight", str(write_end)]
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=complaints, pass_fds=[write_end]
        )
        os.close(write_end)
        began = time.perf_counter()
        try:
            _send(child, question)
            lines = LineReader(read_end)
            results, is_silent = _listen(lines, question["checks"], progress)
        finally:
            kill_tree(child.pid)  # a plan of memory, say, is made by a process of its own
            child.wait()
            os.close(read_end)
        if len(results) < len(question["checks"]):
            stopped_at = question["checks"][len(results)]
            results.append(as_plain(stopped_at, _unknown_after_silence(is_silent, complaints), time.perf_counter() - began))
    return results


def _send(child: subprocess.Popen[bytes], question: dict[str, Any]) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(question).encode())
        child.stdin.close()
    except BrokenPipeError:
        return  # it ended at once; why, is in what it complained


class LineReader:
    """Of a pipe, as they come."""

    def __init__(self, pipe: int) -> None:
        self._pipe, self._held = pipe, b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(pipe, selectors.EVENT_READ)

    def next(self, within_s: float) -> dict[str, Any] | None:
        """None where nothing came in time, EOFError where nothing will."""
        while b"\n" not in self._held:
            if not self._selector.select(within_s):
                return None
            piece = os.read(self._pipe, 1 << 16)
            if not piece:
                raise EOFError
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        plain: dict[str, Any] = json.loads(line)
        return plain


def _listen(lines: LineReader, checks: Sequence[str], progress: Progress | None) -> tuple[list[dict[str, Any]], bool]:
    """The results, and whether it fell silent before all were given."""
    results: list[dict[str, Any]] = []
    while len(results) < len(checks):
        try:
            result = lines.next(MAX_SILENT_S)
        except EOFError:
            return results, False
        if result is None:
            return results, True
        if "check" in result:
            results.append(result)
        if progress is not None:
            progress("preflight", len(results), len(checks))
            if "progress" in result:
                progress(*result["progress"])
    return results, False


def _unknown_after_silence(is_silent: bool, complaints: IO[bytes]) -> CheckUnknown:
    if is_silent:
        return CheckUnknown(f"it gave no sign for {MAX_SILENT_S:.0f} s, and was given up")
    complaints.seek(0)
    said = [line.strip() for line in complaints.read().decode("utf-8", "replace").splitlines() if line.strip()]
    return CheckUnknown(f"the check itself failed: {said[-1][:300] if said else 'its process ended without a word'}")


# A preflight from its beginning to its end, as plain data.


def preflight(settings: Settings, folder: Path, is_quick: bool = False, progress: Progress | None = None) -> dict[str, Any]:
    """`status` is the gravest of the checks' own; one that is not known makes no error, and is never counted as ok."""
    began = time.perf_counter()
    checks = ask(settings, folder, is_quick, progress)
    counts = count_by_status(checks)
    return {
        "status": next(status for status, count in counts.items() if count),
        "model": settings.model,
        "data": settings.data,
        "is_quick": is_quick,
        "counts": counts,
        "seconds": round(time.perf_counter() - began, 3),
        "checks": checks,
    }
