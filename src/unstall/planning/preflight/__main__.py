"""The process in which checks are asked: what to ask comes on standard input, answers go to the pipe that the first argument
numbers.

One JSON object a line: {"began": check}, {"progress": [doing, done, of]}, or an answer.
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
from unstall.planning.preflight.answers import Answer, Refuses, Unknown, as_plain
from unstall.planning.preflight.context import Context
from unstall.planning.preflight.registry import check_module, needs

TOLD_EVERY_S = 0.2  # progress


def main() -> None:
    end_with_parent()
    pipe = int(sys.argv[1])
    asked = json.load(sys.stdin)

    def tell(line: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(line, default=str).encode() + b"\n")

    context = Context(from_plain(asked["settings"]), Path(asked["folder"]), asked["is_quick"], ProgressReporter(tell))
    known: dict[str, str] = asked["known"]
    for name in asked["checks"]:
        tell({"began": name})
        began = time.perf_counter()
        answer = as_plain(name, answer_check(name, context, known), time.perf_counter() - began)
        known[name] = answer["answer"]
        tell(answer)


class ProgressReporter:
    """Progress, now and then."""

    def __init__(self, tell: Any) -> None:
        self._tell, self._last = tell, 0.0

    def __call__(self, doing: str, done: int, of: int) -> None:
        if time.monotonic() - self._last > TOLD_EVERY_S or done == of:
            self._last = time.monotonic()
            self._tell({"progress": [doing, done, of]})


def answer_check(name: str, context: Context, known: dict[str, str]) -> Answer:
    """A user's mistake refuses. Whatever else goes wrong ends this process, and whoever asked goes on with the next check."""
    for other in needs(name):
        if known.get(other) in {"refuses", "unknown"}:
            return Unknown(f"{other} must be in order first")
    try:
        answer: Answer = check_module(name).look(context)
    except UnstallError as wrong:
        return Refuses(str(wrong), getattr(check_module(name), "CURE", ""))
    return answer


if __name__ == "__main__":
    main()
