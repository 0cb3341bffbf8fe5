"""The event of callbacks that take a large part of a training's time.

Standard library only, syntax of Python 3.7, as all of the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from unstall.journal.events.base import Event


@dataclass(frozen=True)
class CallbacksTimed(Event):
    """Callbacks of Keras, each by itself; written only of a fit whose callbacks together take long, and from then on.

    Each: name (of its class), where (file:line of the method, None if it is not the program's own), hook (on_epoch_end, …), timed
    (calls that were timed), seconds and longest_s (of those, without validations, predictions and saves in them), cpu_s (of the
    thread that trains)."""

    seconds: float = 0.0  # since they are timed
    calls: dict[str, int] = field(default_factory=dict)  # by hook: all calls since then, timed or not
    callbacks: list[dict[str, Any]] = field(default_factory=list)
