"""What every event is made of. Standard library only, syntax of Python 3.7: it runs inside the watched program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
