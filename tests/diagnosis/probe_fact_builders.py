"""Events of a training loop as the probe inside writes them, for the tests of the causes that read them."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import FOLDER, T0
from unstall.journal.events import FitBegan, FunctionTraced, GradientsMissed, LoopSeen, ProgramStarted


def inside() -> ProgramStarted:
    return ProgramStarted(at=T0, pid=1, python="3.11.7", argv=["python", "train.py"])


def fit(at: float = 1.0, api: str = "keras") -> FitBegan:
    return FitBegan(at=T0 + at, api=api, backend="tensorflow", where=f"{FOLDER}/train.py:60")


def seen(kind: str, at: float, **facts: Any) -> LoopSeen:
    return LoopSeen(at=T0 + at, facts={"kind": kind, **facts})


def weights(at: float, step: int, changed: tuple[str, ...] = (), unchanged: tuple[str, ...] = (), **facts: Any) -> LoopSeen:
    usual = {
        "learning_rate": 0.001,
        "learning_rate_at": f"{FOLDER}/train.py:12",
        "optimizers": 1,
        "applied": True,
        "applied_to_these": True,
        "applied_at": f"{FOLDER}/train.py:44",
        "asked_at": f"{FOLDER}/train.py:43",
        "in_fit": False,
        "asked_in_fit": False,
    }
    return seen("weights", at, step=step, changed=list(changed), unchanged=list(unchanged), **{**usual, **facts})


def traced(
    at: float, count: int, calls: int, seconds: float, why: str = "value of step", function: str = "train_step"
) -> FunctionTraced:
    return FunctionTraced(
        at=T0 + at,
        function=function,
        where=f"{FOLDER}/train.py:30",
        called_at=f"{FOLDER}/train.py:55",
        count=count,
        calls=calls,
        seconds=seconds,
        why=why,
    )


def missing(at: float, names: tuple[str, ...], of: int, parameters: tuple[int, int], **more: Any) -> GradientsMissed:
    return GradientsMissed(
        at=T0 + at,
        missing=list(names),
        total=of,
        missing_parameters=parameters[0],
        parameters=parameters[1],
        where=f"{FOLDER}/train.py:43",
        **more,
    )
