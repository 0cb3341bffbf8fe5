"""Programs that an error ended, as the probe writes them down: the facts of real runs, in few words."""

from __future__ import annotations

from typing import Any

from tests.diagnosis.builders import FOLDER, T0, journal, lib, py, started
from unstall.journal.events import ErrorInspected, ErrorRaised, Event, FrameworkLoaded, ProcessEnded, ProgramStarted
from unstall.journal.reader import Journal

CRASHED = ProcessEnded(at=T0 + 10, exit_code=1)
VERSIONS = {"tensorflow": "2.21.0", "keras": "3.15.1"}


def line(number: int, source: str, *values: dict[str, Any], function: str = "<module>", **more: Any) -> dict[str, Any]:
    """A line of train.py that the error passed through."""
    row = {"file": f"{FOLDER}/train.py", "line": number, "function": function, "first": number, "source": source.split("\n")}
    return {**row, "values": list(values), **more}


def array(name: str, shape: list[int], dtype: str = "float32", kind: str = "numpy.ndarray", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "shape": shape, "dtype": dtype, "in_failing": True, **more}


def failed(
    kind: str,
    message: str,
    *lines: dict[str, Any],
    within: str = "",
    through: str = "",
    versions: dict[str, str] | None = None,
    **seen: Any,
) -> Journal:
    """`lines` outermost first; `within` is the file of the library that raised it, if one did, and `through` that of one that
    called the innermost line."""
    frames = [py(row["file"], row["function"], row["line"]) for row in reversed(lines)]
    frames = [*frames[:1], lib(through, "call", 9), *frames[1:]] if through else frames
    frames = [lib(within, "call", 7), *frames] if within else frames
    chain, events = seen.pop("chain", []), seen.pop("events", [])
    error = ErrorRaised(at=T0 + 9, kind=kind, message=message, frames=frames, fatal=True, chain=chain)
    loaded = VERSIONS if versions is None else versions
    before: list[Event] = [FrameworkLoaded(at=T0 + 1, name=name, version=version) for name, version in loaded.items()]
    inspected = ErrorInspected(at=T0 + 9.1, error_at=T0 + 9, lines=list(lines), **seen)
    return journal(started(), ProgramStarted(at=T0 + 1, pid=1), *before, error, inspected, *events, CRASHED)


def unseen() -> Journal:
    """A program that failed before anything in it could be seen."""
    return journal(started(), CRASHED)
