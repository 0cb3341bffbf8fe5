"""When is it late? Against the run's own history, and each phase by its own clock; never by one constant.

A program that uses the CPU or the device is slow rather than stuck, and is given more time.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from unstall.journal.events import PhaseEnded, StepsEnded
from unstall.journal.reader import Journal

LATE_TIMES_USUAL = 20.0
LATE_TIMES_LONGEST = 3.0
RECENT_GROUPS = 50


@dataclass(frozen=True)
class Patience:
    """Seconds without a sign of progress after which a program that idles, or one that works, is looked at."""

    idle_s: float
    busy_s: float


PATIENCE = {
    "train": Patience(8.0, 30.0),
    "loop": Patience(8.0, 30.0),
    "validate": Patience(8.0, 30.0),
    "predict": Patience(8.0, 30.0),
    "first_step": Patience(10.0, 30.0),
    "fit": Patience(10.0, 30.0),
    "save": Patience(10.0, 60.0),
    # Outside a training a program may wait for whatever it likes: only its stacks can say that something is wrong.
    "between": Patience(10.0, 120.0),
    "start": Patience(10.0, 120.0),
    "": Patience(10.0, 120.0),
}


@dataclass(frozen=True)
class Limit:
    usual_s: float | None
    idle_s: float
    busy_s: float


def limit(journal: Journal, phase: str) -> Limit:
    """How long this phase may be silent, from what it took before."""
    patience = PATIENCE.get(phase, PATIENCE[""])
    usual, longest = history(journal, phase)
    if usual is None:
        return Limit(None, patience.idle_s, patience.busy_s)
    allowed = max(usual * LATE_TIMES_USUAL, (longest or 0.0) * LATE_TIMES_LONGEST)
    return Limit(usual, max(patience.idle_s, allowed), max(patience.busy_s, allowed))


def history(journal: Journal, phase: str) -> tuple[float | None, float | None]:
    """(median, longest) seconds that a step, or a whole save, took before."""
    if phase == "save":
        seconds = [event.seconds for event in journal.of(PhaseEnded) if event.phase == "save"]
        return (median(seconds), max(seconds)) if seconds else (None, None)
    if phase not in {"train", "loop", "validate", "predict"}:
        return None, None
    kind = "train" if phase == "loop" else phase
    groups = [event for event in journal.of(StepsEnded) if event.phase == kind and event.first > 0][-RECENT_GROUPS:]
    if not groups:
        return None, None
    means = [group.seconds / (group.last - group.first + 1) for group in groups]
    return median(means), max(group.longest_s for group in groups)
