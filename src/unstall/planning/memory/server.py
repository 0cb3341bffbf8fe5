"""The process that answers what a step needs: a question in each line of its input, an answer in each of its output.

    python -m unstall.planning.memory.server PROCESS

What libraries print goes nowhere: the output is for answers alone. It ends with the process that asks.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unstall.base.errors import UnstallError
from unstall.base.processes import die_with_parent
from unstall.planning.memory.messages import Answer, Question

if TYPE_CHECKING:
    from unstall.config.settings import Settings
    from unstall.detectors.detector import Detector


def main() -> None:
    die_with_parent(int(sys.argv[1]))
    out = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            plain: dict[str, Any] = answer_question(Question(**json.loads(line))).as_plain()
        except UnstallError as error:
            plain = {"error": str(error)}
        out.write(json.dumps(plain) + "\n")


def answer_question(question: Question) -> Answer:
    began = time.monotonic()
    from unstall.backends.startup import start

    start(question.backend)
    found = _found(question)
    return replace(found, way=question.way, seconds=round(time.monotonic() - began, 2))


def _found(question: Question) -> Answer:
    from unstall.config.settings import from_plain

    settings = from_plain({**question.settings, "detector": {}})
    detector = build_detector_of(settings, question.settings["detector"])
    if question.way == "estimated":
        from unstall.planning.memory.estimate import estimate_step

        return estimate_step(detector, settings, question.phase, "" if question.card else question.backend)
    if question.way == "measured":
        from unstall.planning.memory.measurement import measure_step

        return measure_step(detector, settings, question.phase)
    from unstall.planning.memory.compiler import compile_step

    elsewhere = question.card if question.way == "compiled" else {}  # else for the device that this process has
    return compile_step(detector, settings, question.phase, elsewhere)


def build_detector_of(settings: Settings, changes: dict[str, Any]) -> Detector:
    from unstall.detectors import POLICIES, create_model

    return create_model(settings.model, **{**changes, "precision": POLICIES[settings.precision], "remat": settings.remat})


if __name__ == "__main__":
    main()
