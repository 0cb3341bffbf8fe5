"""The result of a check, with its status. `unknown` is never counted as `ok`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

STATUSES = ("error", "warning", "unknown", "ok")  # the gravest first


@dataclass(frozen=True)
class CheckOk:
    status: ClassVar[str] = "ok"
    fix: ClassVar[str] = ""
    reason: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckWarning:
    """It would run, worse than it could, or with something that is easily overlooked."""

    status: ClassVar[str] = "warning"
    reason: str
    fix: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckError:
    """It would fail, or learn nothing of use."""

    status: ClassVar[str] = "error"
    reason: str
    fix: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckUnknown:
    """What is missing to say; and how to let it be seen, where there is a way."""

    status: ClassVar[str] = "unknown"
    reason: str
    fix: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


CheckResult = CheckOk | CheckWarning | CheckError | CheckUnknown


def as_plain(check: str, result: CheckResult, seconds: float) -> dict[str, Any]:
    return {
        "check": check,
        "status": result.status,
        "reason": result.reason,
        "fix": result.fix,
        "facts": result.facts,
        "seconds": round(seconds, 3),
    }


def count_by_status(checks: list[dict[str, Any]]) -> dict[str, int]:
    """How many checks have each status, the gravest first."""
    return {status: sum(check["status"] == status for check in checks) for status in STATUSES}
