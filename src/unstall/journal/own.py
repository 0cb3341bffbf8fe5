"""The events about Unstall itself: what failed in it, what it lost, and what it said.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional

from unstall.journal.base import Event


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
