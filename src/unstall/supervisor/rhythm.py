"""How often something is looked at: often at first, more seldom later, seldom while a long run goes well.

What is looked at is written down, and a run of days must not fill a disk, nor its watcher's memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from unstall.diagnosis.memory import Room

CALM_AFTER_S = 300.0  # of watching: what is wrong with most programs has shown by then
CALM_SHARE = 0.8  # of the memory that may be used: beyond it a run is looked at as before
CALM_LEFT_S = 1800.0  # until memory is full, as it grows now


@dataclass
class Rhythm:
    early_s: float
    late_s: float
    calm_s: float
    early_until_s: float = 60.0
    last: float = field(default=-math.inf)  # that it was done (monotonic)

    def is_due(self, now: float, age_s: float, is_calm: bool = False) -> bool:
        """It is then taken for done. As soon as a run is no longer calm, what was put off is due."""
        every_s = self.early_s if age_s < self.early_until_s else self.calm_s if is_calm else self.late_s
        if now - self.last < every_s:
            return False
        self.last = now
        return True

    def at_once(self) -> None:
        self.last = -math.inf


def is_calm(age_s: float, silent_s: float, late_after_s: float, memory: Room | None, full_in_s: float | None) -> bool:
    """Whether a run may be looked at seldom: it has gone on for a while, it moves, and memory is far from full."""
    moves = silent_s < late_after_s / 2
    has_room = memory is None or (memory.share < CALM_SHARE and (full_in_s is None or full_in_s > CALM_LEFT_S))
    return age_s >= CALM_AFTER_S and moves and has_room
