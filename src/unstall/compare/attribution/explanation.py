"""What crosses between explaining and telling: a difference, what it changed and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from unstall.base.formatting import format_size
from unstall.compare.differences.difference import Difference
from unstall.compare.record.results import OF_THE_RUN

SHARED = "by this or others (cannot be told apart)"
MAX_UNCERTAINTY = 0.1  # of an amount: what is unsure by more is told as from where to where


@dataclass(frozen=True)
class Explanation:
    """channel: memory, time, loss or free. how: measured (nothing else can have changed it), planned, by arithmetic, possible."""

    difference: Difference
    channel: str
    amount: float
    unit: str  # B, s, or nothing
    how: str
    share: float = 0.0  # of the whole change, 0 to 1; where it is shared, a guess for their order alone
    part: str = ""  # of a step, for the time
    note: str = ""
    unsure: float = 0.0  # that the amount may be wrong by, where that is known
    is_shared: bool = False  # the amount is that of several explanations; nothing tells how much of it is due to this one

    @property
    def words(self) -> str:
        """+5.1 GiB; +120 to +160 MiB; +12 ms per step (input); +0.4 in the loss, by this or others (cannot be told apart)."""
        result = format_range(*self.range) if self.is_range else format_amount(self.amount, self.unit, self.channel, self.part)
        return result + (f", {SHARED}" if self.is_shared else "") + (f" {self.note}" if self.note else "")

    @property
    def is_range(self) -> bool:
        return self.unit == "B" and self.unsure > MAX_UNCERTAINTY * abs(self.amount)

    @property
    def range(self) -> tuple[float, float]:
        """From the least that it may be to the most; with the amount's sign."""
        sign = 1.0 if self.amount >= 0 else -1.0
        return sign * max(0.0, abs(self.amount) - self.unsure), sign * (abs(self.amount) + self.unsure)

    @property
    def description(self) -> str:
        return f"{self.difference.description}: {self.words}"

    def as_plain(self) -> dict[str, Any]:
        return {
            "difference": self.difference.name, "detail": self.difference.detail, "description": self.description,
            "channel": self.channel, "part": self.part, "amount": None if self.is_shared else self.amount, "unit": self.unit,
            "how": self.how, "share": None if self.is_shared else round(self.share, 4),
            "range": list(self.range) if self.is_range else None, "shared_amount": self.amount if self.is_shared else None,
        }  # fmt: skip


@dataclass(frozen=True)
class ChannelExplanation:
    """One channel: what explains its change, the most first; what two changes do only together; and what is left."""

    channel: str
    explanations: tuple[Explanation, ...] = ()
    together: float = 0.0
    left: float = 0.0
    left_unit: str = ""
    left_words: str = ""
    candidates: tuple[str, ...] = field(default=())  # for what is left

    def as_plain(self) -> dict[str, Any]:
        return {
            "channel": self.channel, "explanations": [each.as_plain() for each in self.explanations], "together": self.together,
            "left": self.left, "left_description": self.left_words, "candidates": list(self.candidates),
        }  # fmt: skip


def format_amount(amount: float, unit: str, channel: str = "", part: str = "") -> str:
    if math.isnan(amount):
        return "the loss is no number any more"
    sign = "+" if amount >= 0 else "−"
    if unit == "B":
        return f"{sign}{format_size(abs(amount))}{' free' if channel == 'free' else ''}"
    if unit == "s":
        text = f"{abs(amount) * 1000:.3g} ms" if abs(amount) < 1 else f"{abs(amount):.3g} s"
        where = f" ({part})" if part else ""
        return f"{sign}{text} {'of the run' if part in OF_THE_RUN else 'per step'}{where}"
    return f"{sign}{abs(amount):.3g}" + (" in the loss" if channel == "loss" else "")


def format_range(least: float, most: float) -> str:
    """+120 to +160 MiB."""
    sign = "+" if most >= 0 else "−"
    unit, divisor = ("GiB", 2**30) if abs(most) >= 2**30 else ("MiB", 2**20)
    low, high = (f"{abs(each) / divisor:.1f}" if unit == "GiB" else f"{abs(each) / divisor:.0f}" for each in (least, most))
    return f"up to {sign}{high} {unit}" if float(low) == 0 else f"{sign}{low} to {sign}{high} {unit}"
