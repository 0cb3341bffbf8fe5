"""The events of what a program prints: its progress and its losses, as its own lines say them.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from unstall.journal.events.base import Event


@dataclass(frozen=True)
class ProgressPrinted(Event):
    """The program printed that its training got on. Lines that come soon after one another are put together."""

    stream: str = ""  # stdout | stderr | stdout and stderr
    style: str = ""  # keras | bar | table | darknet | pairs: the form of the line
    step: Optional[int] = None  # as printed: of the epoch, or of the whole training
    of: Optional[int] = None
    epoch: Optional[float] = None
    epochs: Optional[int] = None
    steps: int = 0  # that were made since the first line, over all epochs
    first_at: float = 0.0  # the first of the lines that were put together
    readings: int = 0  # how many of them said something new
    usual_s: Optional[float] = None  # between two of them (median), up to now
    longest_s: Optional[float] = None
    line: str = ""  # the last of them


@dataclass(frozen=True)
class LossPrinted(Event):
    """The program printed the loss of its training. Lines that come soon after one another are put together."""

    stream: str = ""
    style: str = ""
    name: str = ""  # as printed; several parts are joined by +
    is_total: bool = True  # the loss itself, not the sum of those of its parts that were printed
    value: Optional[float] = None  # the last; None: not finite
    is_finite: bool = True  # the last
    mean: Optional[float] = None  # of those that are finite
    step: Optional[int] = None
    epoch: Optional[float] = None
    first_at: float = 0.0
    readings: int = 0
    not_finite: int = 0  # how many of them
    moments: int = 0  # at how many moments they came: what is printed all at once may be a file that is shown
    line: str = ""  # the last of them


@dataclass(frozen=True)
class OutputSkipped(Event):
    """So much of what the program printed was not read, since it came too fast. The program was not held up, and its output is
    complete."""

    stream: str = ""
    skipped_bytes: int = 0
