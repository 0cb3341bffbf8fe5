"""What a cause says of a journal: found, clear, unknown or crashed. `Unknown` is never read as healthy."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from unstall.journal.events import Event


class Certainty(IntEnum):
    POSSIBLE = 1
    LIKELY = 2
    CERTAIN = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Effect(IntEnum):
    """What a fault does to the run. Of two that are equally sure, the graver stands first."""

    SLOWS = 1
    SPOILS = 2
    STOPS = 3


class Safety(StrEnum):
    """How safe a remedy is: AUTO has verify and undo, ASK wants a yes, ADVISE is for the user to do."""

    AUTO = "auto"
    ASK = "ask"
    ADVISE = "advise"


@dataclass(frozen=True)
class Remedy:
    action: str
    safety: Safety = Safety.ADVISE


@dataclass(frozen=True)
class Evidence:
    """One claim, the value seen, the limit that it broke (None where there is none), and the events that show it."""

    claim: str
    value: float | str | None
    limit: float | str | None
    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.events:
            raise ValueError(f"Evidence needs the events that show it. Received: claim={self.claim!r}, events=()")


@dataclass(frozen=True)
class LineChange:
    """A change of the user's own lines, as they stand in the file, with their indentation."""

    where: str  # file:line of the first of them
    before: tuple[str, ...]
    after: tuple[str, ...]
    when: str = ""  # of several changes: in which case it is this one

    def __post_init__(self) -> None:
        if not self.before or self.before == self.after:
            raise ValueError(f"A change needs lines that it changes. Received: before={self.before!r}, after={self.after!r}")


@dataclass(frozen=True)
class Found:
    certainty: Certainty
    summary: str  # plain sentences: what is wrong, with the user's own names and numbers
    evidence: tuple[Evidence, ...]
    actions: tuple[str, ...]  # remedies, the best first, each one sentence in the imperative
    where: str | None = None  # file:line of the user's own code
    effect: Effect = Effect.STOPS
    details: dict[str, Any] = field(default_factory=dict)
    changes: tuple[LineChange, ...] = ()  # of the user's own lines, where one can be written safely; the best first

    def __post_init__(self) -> None:
        if not self.evidence:
            raise ValueError(f"A cause is found by evidence. Received: evidence=() for {self.summary!r}")

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        return tuple(Remedy(text) for text in self.actions)


@dataclass(frozen=True)
class Clear:
    """Looked at, and not so."""

    why: str = ""


@dataclass(frozen=True)
class Unknown:
    """Could not be looked at: `missing` says what would be needed, `fix` how to give it."""

    missing: str
    fix: str = ""


@dataclass(frozen=True)
class Crashed:
    """The examination itself failed: shown, never swallowed."""

    error: str


Verdict = Found | Clear | Unknown | Crashed
