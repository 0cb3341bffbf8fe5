"""What a run was made of, as far as its folder says it: versions of packages, and the sources of the program."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from unstall.journal.events import (
    CircumstancesSeen,
    FrameworkLoaded,
    ProgramStarted,
    RunStarted,
    VersionsRead,
)
from unstall.journal.run_folder import RunFolder

if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    from unstall.journal.events import Event

    E = TypeVar("E", bound=Event)

    class Events(Protocol):
        """A journal, or a summary of one."""

        def of(self, kind: type[E]) -> list[E]: ...
        def first(self, kind: type[E]) -> E | None: ...
        def last(self, kind: type[E]) -> E | None: ...


LARGEST_SOURCES_BYTES = 64 * 2**20


def versions_of(taken: Events) -> dict[str, str]:
    """Of Python, packages and drivers."""
    found: dict[str, str] = {}
    for event in taken.of(VersionsRead):
        found.update(event.versions)
    opencv = next((version for name, version in found.items() if name.startswith("opencv-")), None)
    for loaded in taken.of(FrameworkLoaded):
        if loaded.version:
            found[loaded.name] = loaded.version
    if opencv:
        found["opencv"] = opencv
    program, seen, started = taken.first(ProgramStarted), taken.last(CircumstancesSeen), taken.first(RunStarted)
    if program is not None and program.python:
        found["python"] = program.python
    found.update(seen.drivers if seen else {})
    if started is not None and started.mode == "train" and started.version:
        found["unstall"] = started.version
    return dict(sorted(found.items()))


def read_sources(folder: RunFolder) -> dict[str, Any]:
    """The copies of the program's files; empty where there are none, or none that can be read."""
    try:
        if folder.sources_path.stat().st_size > LARGEST_SOURCES_BYTES:
            return {}
        with gzip.open(folder.sources_path) as file:
            plain = json.loads(file.read(LARGEST_SOURCES_BYTES))
    except (OSError, ValueError, EOFError):
        return {}
    return plain if isinstance(plain, dict) else {}
