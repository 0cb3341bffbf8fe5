"""The journal of a program that an error ended, in few words."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import FOLDER, T0, journal, py, started
from unstall.journal.events import ErrorInspected, ErrorRaised, FrameworkLoaded, ProcessEnded, ProgramStarted
from unstall.journal.reader import Journal

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)


def line(code: str, *values: dict[str, Any], at: int = 43, function: str = "main", **more: Any) -> dict[str, Any]:
    """A line of the program's own, as it is written down."""
    return {
        "file": f"{FOLDER}/train.py", "line": at, "function": function, "first": at, "source": [code], "values": list(values),
        **more,
    }  # fmt: skip


def array(name: str, *shape: int, dtype: str = "float32", kind: str = "torch.Tensor", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "shape": list(shape), "dtype": dtype, "in_failing": True, **more}


def layer(kind: str, code: str, name: str = "head", at: int = 12, **options: Any) -> dict[str, Any]:
    where = f"{FOLDER}/model.py:{at}"
    return {"what": "layer", "class": kind, "name": name, "where": where, "first": at, "source": [code], "options": options}


def call(function: str, *values: dict[str, Any]) -> dict[str, Any]:
    return {"file": "library.py", "line": 1, "function": function, "values": list(values)}


def ended(kind: str, message: str, *lines: dict[str, Any], chain: tuple[str, ...] = (), **seen: Any) -> Journal:
    frames = [py("train.py", "main", 43)]
    error = ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=frames, fatal=True, chain=list(chain))
    inspected = ErrorInspected(at=T0 + 9, error_at=T0 + 9, lines=list(lines), **seen)
    loaded = (ProgramStarted(at=T0 + 1, pid=1), FrameworkLoaded(at=T0 + 1, name="torch"))
    return journal(started(), *loaded, error, inspected, CRASHED)


def unseen() -> Journal:
    """Of a program that failed with nothing inside it to see why."""
    return journal(started(), CRASHED)
