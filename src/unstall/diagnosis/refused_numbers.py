"""An operation or a loss that raised since its numbers are not finite, and what the batch held that it was given.

The error says that numbers are out of range, or that a NaN came up. That alone does not tell whether the data holds it or the
model made it: the probe looked at the batch when the error ended the program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from unstall.diagnosis.failures import fatal_error
from unstall.journal.events import BatchSampled, ErrorRaised
from unstall.journal.reader import Journal

AT_THE_ERROR = "at the error"
LOOKED_AT_S = 10.0  # the batch is looked at right after the error

# Said where a NaN or an infinity was met. "Between 0 and 1" is said of numbers that are merely too large, too.
_REFUSED = re.compile(
    r"all elements of (?:input|target) should be between 0 and 1|Assertion `?(?:input|target)_val >= zero"
    r"|probability tensor contains either|[Cc]ontains (?:NaN|nan|inf)|cannot convert float (?:NaN|infinity) to integer"
    r"|(?:array|matrix|values?|[Ii]nput) (?:must|should) (?:be finite|not contain (?:NaN|nan|inf))"
)


@dataclass(frozen=True)
class Refused:
    error: ErrorRaised
    looked: BatchSampled
    arrays: tuple[dict[str, Any], ...]

    def bad(self, *roles: str) -> list[dict[str, Any]]:
        return [facts for facts in self.arrays if facts["role"] in roles and facts.get("not_finite")]

    def of(self, role: str) -> list[dict[str, Any]]:
        return [facts for facts in self.arrays if facts["role"] == role]


def refused_numbers(journal: Journal) -> Refused | None:
    """None where the error is about something else, or the batch could not be looked at."""
    error = fatal_error(journal)
    if error is None or not _REFUSED.search(error.message):
        return None
    looked = [
        event
        for event in journal.of(BatchSampled)
        if event.facts.get("source") == AT_THE_ERROR and abs(event.at - error.at) < LOOKED_AT_S
    ]
    return Refused(error, looked[-1], tuple(looked[-1].facts["arrays"])) if looked else None


def held(facts: dict[str, Any]) -> str:
    """3 of 256, first in row 12"""
    count, total = int(facts["not_finite"]), 1
    for side in facts.get("shape", []):
        total *= int(side)
    row = f", first in row {facts['first_bad_row']:,}" if facts.get("first_bad_row") is not None else ""
    return f"{count:,} of {total:,}{row}"
