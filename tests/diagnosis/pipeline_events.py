"""Events of input pipelines, in few words."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import FOLDER, T0
from unstall.journal.events import FitBegan, InputDescribed, PipelineMeasured, ThreadsSeen


def fit(at: float = 1.0, api: str = "keras", line: int = 90, **more: Any) -> FitBegan:
    return FitBegan(at=T0 + at, api=api, backend="tensorflow", where=f"{FOLDER}/train.py:{line}", **more)


def described(
    at: float = 1.0, role: str = "train", kind: str = "tf.data", batches: int | None = None, **arguments: Any
) -> InputDescribed:
    return InputDescribed(at=T0 + at, kind=kind, where=f"{FOLDER}/train.py:90", batches=batches, arguments=arguments, role=role)


def stage(name: str, line: int, does: tuple[str, ...] = (), **arguments: Any) -> dict[str, Any]:
    return {"name": name, "stage": name.lower(), "where": f"{FOLDER}/train.py:{line}", "arguments": arguments, "does": list(does)}


def node(name: str, elements: int, seconds: float = 0.0, at_a_time: int = 1, buffered: int = 0) -> dict[str, Any]:
    return {"name": name, "elements": elements, "seconds": seconds, "at_a_time": at_a_time, "buffered": buffered}


def measured(
    at: float, nodes: list[dict[str, Any]], stages: list[dict[str, Any]] | None = None, since: float = 2.0, role: str = "train"
) -> PipelineMeasured:
    """Both from the source on; the pipeline was made at `since`."""
    return PipelineMeasured(at=T0 + at, number=1, role=role, seconds=at - since, stages=stages or [], nodes=nodes)


def threads(at: float, **cpu_ms: float) -> ThreadsSeen:
    """threads(10, t2=500): thread 2 has used 500 ms of CPU up to then."""
    looks = [{"id": int(name[1:]), "cpu_ms": value, "queued_ms": 0.0, "runs": 1} for name, value in cpu_ms.items()]
    return ThreadsSeen(at=T0 + at, pid=1, threads=looks)
