"""The process in which checks are asked: what to ask comes on standard input, results go to the pipe that the first argument
numbers.

One JSON object a line: {"began": check}, {"progress": [doing, done, of]}, or a result.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from unstall.base.errors import UnstallError
from unstall.base.processes import end_with_parent
from unstall.config.settings import from_plain
from unstall.planning.preflight.check import CheckError, CheckResult, CheckUnknown, Context, as_plain
from unstall.planning.preflight.checks import CHECKS, list_needs

REPORT_INTERVAL_S = 0.2  # progress


def main() -> None:
    end_with_parent()
    pipe = int(sys.argv[1])
    asked = json.load(sys.stdin)

    def send(line: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(line, default=str).encode() + b"\n")

    context = Context(from_plain(asked["settings"]), Path(asked["folder"]), asked["is_quick"], ProgressReporter(send))
    known: dict[str, str] = asked["known"]
    for name in asked["checks"]:
        send({"began": name})
        began = time.perf_counter()
        result = as_plain(name, run_check(name, context, known), time.perf_counter() - began)
        known[name] = result["status"]
        send(result)


class ProgressReporter:
    """Progress, now and then."""

    def __init__(self, send: Any) -> None:
        self._tell, self._last = send, 0.0

    def __call__(self, doing: str, done: int, of: int) -> None:
        if time.monotonic() - self._last > REPORT_INTERVAL_S or done == of:
            self._last = time.monotonic()
            self._tell({"progress": [doing, done, of]})


def run_check(name: str, context: Context, known: dict[str, str]) -> CheckResult:
    """A user's mistake is an error. Whatever else goes wrong ends this process, and whoever asked goes on with the next check."""
    for other in list_needs(name):
        if known.get(other) in {"error", "unknown"}:
            return CheckUnknown(f"{other} must be in order first")
    try:
        result: CheckResult = CHECKS.module(name).look(context)
    except UnstallError as wrong:
        return CheckError(str(wrong), getattr(CHECKS.module(name), "FIX", ""))
    return result


if __name__ == "__main__":
    main()
