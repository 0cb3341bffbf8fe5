"""The events of repairing: what the supervisor planned, whether it helped, what it took back, and when it gave up.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from unstall.journal.base import Event


@dataclass(frozen=True)
class PlanMade(Event):
    """A remedy was chosen for a fault, and settings were changed as it says."""

    remedy: str = ""  # a file of unstall/remedies
    cause: str = ""  # the fault that it treats
    verb: str = ""  # restart | resume from | change | skip examples | stop | ask
    change: dict[str, Any] = field(default_factory=dict)  # settings by name, as they are from now on
    undo: dict[str, Any] = field(default_factory=dict)  # the same, as they were
    why: str = ""
    attempt: int = 0  # the how many'th repair of this run; 0: before its first step
    most: int = 0  # repairs that the run may have
    step: int = 0  # that the fault came in, counted over all epochs
    from_step: int = 0  # of the checkpoint that the run goes on from
    happened: str = ""
    evidence: list[str] = field(default_factory=list)
    verify: str = ""  # how it will be seen that it helped


@dataclass(frozen=True)
class PlanVerified(Event):
    remedy: str = ""
    how: str = ""  # what was seen
    attempt: int = 0


@dataclass(frozen=True)
class PlanUndone(Event):
    """It did not help: the settings are again as they were before it."""

    remedy: str = ""
    change: dict[str, Any] = field(default_factory=dict)  # settings by name, as they are again
    why: str = ""
    attempt: int = 0


@dataclass(frozen=True)
class RepairsEnded(Event):
    """The run cannot be helped, or may not be any more."""

    cause: str = ""
    step: int = 0
    happened: str = ""
    evidence: list[str] = field(default_factory=list)
    why: str = ""  # nothing more is done about it
    advice: str = ""  # what a person may do, where a remedy has to be asked for
    command: str = ""  # that reproduces it
