"""What a check answers. `Unknown` is never counted as `Fits`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KINDS = ("refuses", "warns", "unknown", "fits")  # the gravest first


@dataclass(frozen=True)
class Fits:
    reason: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Warns:
    """It would run, worse than it could, or with something that is easily overlooked."""

    reason: str
    cure: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refuses:
    """It would fail, or learn nothing of use."""

    reason: str
    cure: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unknown:
    """What is missing to say; and how to let it be seen, where there is a way."""

    reason: str
    cure: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


Answer = Fits | Warns | Refuses | Unknown


def as_plain(check: str, answer: Answer, seconds: float) -> dict[str, Any]:
    return {
        "check": check,
        "answer": type(answer).__name__.lower(),
        "reason": answer.reason,
        "cure": getattr(answer, "cure", ""),
        "facts": answer.facts,
        "seconds": round(seconds, 3),
    }


def summed_up(answers: list[dict[str, Any]]) -> dict[str, int]:
    """How many of each kind, the gravest first."""
    return {kind: sum(answer["answer"] == kind for answer in answers) for kind in KINDS}
