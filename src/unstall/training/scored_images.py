"""Which images of a data set an evaluation scores: those that the weights were not trained on, where that is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from unstall.data.example import DataSet
from unstall.report.counted import counted
from unstall.training.trained_on import described_by, overlap, rows

UNKNOWN, HELD_OUT, ALL = "unknown", "held_out", "all"


@dataclass(frozen=True)
class Scored:
    """As it is told, and written as JSON."""

    # unknown: the weights do not say what they were trained on, and all are scored; held_out: those that the training did not
    # learn from; all: of the data set, or of the split that was asked for
    images: str
    count: int  # that are scored
    of: int
    trained_on: int | None  # of all of these; None: it is not known

    @property
    def note(self) -> str:
        """For a person; empty where there is nothing to say."""
        if self.trained_on is None:
            return (
                "The weights file does not say which images it was trained on: whether these images are among them is not known."
            )
        if self.images == HELD_OUT:
            learned = "1 was" if self.trained_on == 1 else f"{self.trained_on:,} were"
            held_out = counted(self.count, "held-out image")
            return f"Scoring {held_out} of {self.of:,}; {learned} trained on. --all-images scores all of them."
        if not self.trained_on:
            return ""
        return (
            f"Warning: the weights were trained on {self.trained_on:,} of the {counted(self.of, 'image')} that are scored. "
            "The figures do not say how well the detector does on new images."
        )

    def as_plain(self) -> dict[str, Any]:
        return {**asdict(self), "note": self.note}


def chosen(data: DataSet, stored: dict[str, Any], is_all: bool) -> tuple[DataSet, Scored]:
    """`stored` is what the description of the weights says. `is_all`: nothing is to be left out.

    Where the data set has images that the training held out, these are scored, as the training has done; where it has others
    beside those that were trained on, these."""
    known, count = described_by(stored), len(data.examples)
    if known is None:
        return data, Scored(UNKNOWN, count, count, None)
    found = overlap(known, data)
    trained_on, scored = len(found.trained_on), found.held_out or found.others
    if is_all or not trained_on or not scored:
        return data, Scored(ALL, count, count, trained_on)
    return rows(data, scored), Scored(HELD_OUT, len(scored), count, trained_on)
