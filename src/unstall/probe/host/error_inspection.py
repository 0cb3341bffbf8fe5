"""Writes down what an error passed through: the program's lines with their values, and the lines that made what failed.

Also what a program says of its own end: that it called sys.exit with something other than success, and which error it was
handling then. Each part is looked at by itself, so that one which cannot be read costs no other.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Optional

from unstall.journal.events import ErrorInspected, ExitCalled
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import user_place
from unstall.probe.host import failing_lines, makers

MAX_INSPECTED = 20  # errors of one program; threads may end one after the other
MAX_MESSAGE = 500


def inspect_error(probe: Probe, error: Any, traceback: Optional[TracebackType], at: float) -> None:
    count = probe.extras["errors inspected"] = probe.extras.get("errors inspected", 0) + 1
    if count > MAX_INSPECTED:
        return
    began = time.monotonic()
    until = began + failing_lines.SECONDS

    def part(name: str, look: Callable[..., Any], *arguments: Any) -> list[dict[str, Any]]:
        return probe.shield.call(f"error: {name}", look, *arguments) or []

    event = ErrorInspected(
        at=time.time(),
        error_at=at,
        lines=part("lines", failing_lines.inspect_lines, traceback, until),
        calls=part("calls", failing_lines.inspect_calls, traceback, until),
        pipelines=part("pipelines", makers.find_pipelines, probe, traceback),
        makers=part("makers", makers.find_makers, probe, error, traceback, until),
        seconds=time.monotonic() - began,
    )
    probe.emit(event)


def watch_exits(probe: Probe, report_caught: Callable[[BaseException], float]) -> None:
    """`report_caught` writes down the error that was being handled, and gives the moment by which it is known."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def exit(*args: Any, **kwargs: Any) -> Any:
            status = args[0] if args else kwargs.get("status")
            if probe.active and status is not None and not (type(status) in (int, bool) and status == 0):
                probe.shield.call("exit", note, status)
            return original(*args, **kwargs)

        return exit

    def note(status: Any) -> None:
        handled = sys.exc_info()[1]
        is_error = isinstance(handled, Exception)
        at = report_caught(handled) if is_error and handled is not None else None
        code = status if type(status) in (int, bool) else 1
        message = status[:MAX_MESSAGE] if type(status) is str else ""
        probe.emit(ExitCalled(at=time.time(), exit_code=int(code) & 0xFF, message=message, where=user_place(2), error_at=at))

    wrap(sys, "exit", make)
