"""What every event is made of. Standard library only, syntax of Python 3.7: it runs inside the watched program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from typing import TypedDict

    class Frame(TypedDict):
        """One line of a stack. `module` is set for native frames (the shared library), and empty for Python ones."""

        function: str
        file: str
        line: int
        module: str

    class _OfThread(TypedDict, total=False):
        gil: bool  # it held the interpreter's lock

    class ThreadStack(_OfThread):
        """One thread of a sample, innermost frame first."""

        id: int
        name: str
        active: bool
        frames: list[Frame]

else:  # Python 3.7 has no TypedDict; a frame is a plain dict in any case
    Frame = ThreadStack = dict


@dataclass(frozen=True)
class Event:
    at: float = 0.0


# The events about Unstall itself: what failed in it, what it lost, and what it said.
#
# Standard library only, syntax of Python 3.7, as all of the journal.


@dataclass(frozen=True)
class ProbeFailed(Event):
    probe: str = ""
    error: str = ""
    disabled: bool = False


@dataclass(frozen=True)
class EventsLost(Event):
    count: int = 0
    why: str = ""


@dataclass(frozen=True)
class VerdictReached(Event):
    cause: str = ""
    certainty: str = ""
    where: Optional[str] = None
    summary: str = ""
    evidence: list[str] = field(default_factory=list)  # what was claimed, as it was then
    remedies: list[str] = field(default_factory=list)
