"""What a training is fed, as the probe saw it: the facts of the inputs and the labels, put together over all looks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from unstall.diagnosis.errors.fatal_error import find_fatal_error
from unstall.diagnosis.learning_curve import LearningCurve
from unstall.journal.events import BatchSampled, ErrorRaised
from unstall.journal.reader import Journal


@dataclass
class BatchArray:
    """One array of the inputs or the labels."""

    role: str
    name: str
    dtype: str = ""
    shape: list[int] = field(default_factory=list)
    least: float | None = None
    most: float | None = None
    rms: float | None = None
    whole: bool | None = None
    lowest: list[int] = field(default_factory=list)
    highest: list[int] = field(default_factory=list)
    not_finite: int = 0
    bad_row: int | None = None
    bad_batch: int | None = None
    boxes: int = 0
    boxes_inside_out: int = 0
    boxes_negative: int = 0
    events: list[BatchSampled] = field(default_factory=list)

    @property
    def label(self) -> str:
        plain = "inputs" if self.role == "x" else "labels"
        return f"{plain} '{self.name}'" if self.name else plain

    @property
    def bad(self) -> str:
        """How many numbers are no numbers, in words."""
        verb = "is" if self.not_finite == 1 else "are"
        least = "at least " if self.bad_row is not None else ""  # the search for a row ends at the first
        return f"{least}{self.not_finite:,} of the numbers looked at in the {self.label} {verb} not finite"

    def add(self, facts: dict[str, Any], event: BatchSampled) -> None:
        self.events = [*self.events[:4], event]
        self.dtype = facts.get("dtype", self.dtype)
        self.shape = facts.get("shape", self.shape)
        if "min" in facts:
            self.least = facts["min"] if self.least is None else min(self.least, facts["min"])
            self.most = facts["max"] if self.most is None else max(self.most, facts["max"])
            self.rms = max(self.rms or 0.0, facts["rms"])
        if "whole" in facts:
            self.whole = facts["whole"] and self.whole is not False
            self.lowest = sorted(set(self.lowest) | set(facts.get("lowest", [])))[:12]
            self.highest = sorted(set(self.highest) | set(facts.get("highest", [])))[-12:]
        if facts.get("not_finite"):
            count = int(facts["not_finite"])
            is_search = facts.get("first_bad_row") is not None  # it may meet the numbers that were looked at before
            self.not_finite = max(self.not_finite, count) if is_search else self.not_finite + count
            self.bad_row = facts.get("first_bad_row") if self.bad_row is None else self.bad_row
            self.bad_batch = event.facts.get("batch") if self.bad_batch is None else self.bad_batch
            self.events = [event, *self.events[:4]]
        boxes = facts.get("boxes") or {}
        self.boxes += int(boxes.get("rows", 0))
        self.boxes_inside_out += int(boxes.get("inside_out", 0))
        self.boxes_negative += int(boxes.get("negative_size", 0))
        if boxes.get("inside_out"):
            self.events = [event, *self.events[:4]]


def collect_batch_arrays(run: LearningCurve, role: str) -> list[BatchArray]:
    found: dict[str, BatchArray] = {}
    for event in run.batches:
        if event.facts.get("source") == AT_THE_ERROR:
            continue  # rows of one batch, not of the data
        for facts in event.facts["arrays"]:
            if facts["role"] == role:
                found.setdefault(facts["name"], BatchArray(role, facts["name"])).add(facts, event)
    return list(found.values())


def find_labels(run: LearningCurve, index: int) -> BatchArray | None:
    """The labels that belong to an output of the model; None where that cannot be told."""
    labels = collect_batch_arrays(run, "y")
    outputs = run.model.get("outputs") or []
    if len(outputs) <= 1:
        return labels[0] if len(labels) == 1 and index == 0 else None
    name = outputs[index]["name"] if index < len(outputs) else ""
    named = [each for each in labels if each.name == name]
    if named:
        return named[0]
    by_place = [each for each in labels if each.name == str(index)]
    return by_place[0] if by_place and len(labels) == len(outputs) else None


# An operation or a loss that raised since its numbers are not finite, and what the batch held that it was given.
#
# The error says that numbers are out of range, or that a NaN came up. That alone does not tell whether the data holds it or
# the model made it: the probe looked at the batch when the error ended the program.


AT_THE_ERROR = "at the error"
LOOKED_AT_S = 10.0  # the batch is looked at right after the error

# Said where a NaN or an infinity was met. "Between 0 and 1" is said of numbers that are merely too large, too.
_REFUSED = re.compile(
    r"all elements of (?:input|target) should be between 0 and 1|Assertion `?(?:input|target)_val >= zero"
    r"|probability tensor contains either|[Cc]ontains (?:NaN|nan|inf)|cannot convert float (?:NaN|infinity) to integer"
    r"|(?:array|matrix|values?|[Ii]nput) (?:must|should) (?:be finite|not contain (?:NaN|nan|inf))"
)


@dataclass(frozen=True)
class FailedBatch:
    error: ErrorRaised
    looked: BatchSampled
    arrays: tuple[dict[str, Any], ...]

    def bad(self, *roles: str) -> list[dict[str, Any]]:
        return [facts for facts in self.arrays if facts["role"] in roles and facts.get("not_finite")]

    def of(self, role: str) -> list[dict[str, Any]]:
        return [facts for facts in self.arrays if facts["role"] == role]


def find_failed_batch(journal: Journal) -> FailedBatch | None:
    """None where the error is about something else, or the batch could not be looked at."""
    error = find_fatal_error(journal)
    if error is None or not _REFUSED.search(error.message):
        return None
    looked = [
        event
        for event in journal.of(BatchSampled)
        if event.facts.get("source") == AT_THE_ERROR and abs(event.at - error.at) < LOOKED_AT_S
    ]
    return FailedBatch(error, looked[-1], tuple(looked[-1].facts["arrays"])) if looked else None


def describe_bad_rows(facts: dict[str, Any]) -> str:
    """3 of 256, first in row 12"""
    count, total = int(facts["not_finite"]), 1
    for side in facts.get("shape", []):
        total *= int(side)
    row = f", first in row {facts['first_bad_row']:,}" if facts.get("first_bad_row") is not None else ""
    return f"{count:,} of {total:,}{row}"
