"""Which worker holds the others, from sightings alone: quickly, of very many, and before any stack is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unstall.crew.places import ALONE_PHASES
from unstall.crew.sighting import Sighting

SILENT_S = 10.0  # the watcher of a program that stands still, and of one that moves, writes more often
LOOKED_AT_S = 12.0  # after so long in a stall a watcher has taken the stacks and said what it knows
MOST_SHARE = 0.5  # of the workers, that can hold the rest: if more look like it, nothing can be said
FEW_SHARE = 0.02  # the same for what is told by silence alone, which many watchers on busy machines may keep; at least one


@dataclass(frozen=True)
class Holder:
    sighting: Sighting
    kind: str  # left | ended | elsewhere (its watcher names a cause) | silent | still (its watcher names none) | behind
    words: str


@dataclass(frozen=True)
class Holding:
    holders: tuple[Holder, ...]
    held: int  # workers that wait


def who_holds(workers: Sequence[Sighting], now: float) -> Holding | None:
    """None while nobody waits, and where it cannot be told. `now` is by the clock of `heard_at`."""
    going = [worker for worker in workers if not worker.ended]
    stalled = [worker for worker in going if worker.stall is not None]
    waiting = [worker for worker in stalled if worker.waits_for_others]
    if not waiting or len(workers) < 2:
        return None
    few = max(1.0, FEW_SHARE * len(workers))
    ways = (
        (_gone(workers), MOST_SHARE * len(workers)),
        (_elsewhere(stalled), MOST_SHARE * len(workers)),
        (_silent(going, now), few),
        (_still(stalled), few),
        (_behind(stalled), few),
    )
    for holders, most in ways:
        if holders and len(holders) <= most:
            return Holding(tuple(holders), len(waiting))
    return None


def _gone(workers: Sequence[Sighting]) -> list[Holder]:
    bad = sorted((worker for worker in workers if worker.ended in {"failed", "killed"}), key=lambda worker: worker.ended_at)
    if bad:
        return [Holder(worker, "left", f"{_after(worker)}{worker.ended}") for worker in bad]
    done = [worker for worker in workers if worker.ended == "done"]
    return [Holder(worker, "ended", f"{_after(worker)}ended in order") for worker in done]


def _after(worker: Sighting) -> str:
    return f"after step {worker.step:,} it has " if worker.step is not None else "it has "


def _silent(going: Sequence[Sighting], now: float) -> list[Holder]:
    quiet = [worker for worker in going if now - worker.heard_at >= SILENT_S + worker.late_s and not worker.waits_for_others]
    return [Holder(worker, "silent", f"nothing was heard of it for {now - worker.heard_at:.0f} s") for worker in quiet]


def _elsewhere(stalled: Sequence[Sighting]) -> list[Holder]:
    """Those whose watcher has named another cause than waiting."""
    named = [
        (worker, *next(iter(worker.verdicts.items()))) for worker in stalled if worker.verdicts and not worker.waits_for_others
    ]
    return [Holder(worker, "elsewhere", f"{cause}{f' at {place}' if place else ''}") for worker, cause, place in named]


def _still(stalled: Sequence[Sighting]) -> list[Holder]:
    """Those whose watcher has named nothing, in the time that it takes to look."""
    unnamed = [worker for worker in stalled if not worker.verdicts and worker.stall is not None]
    looked_at = [worker for worker in unnamed if worker.stall and worker.last_at - worker.stall.since >= LOOKED_AT_S]
    words = "it stands still{}, and not in a collective operation"
    return [Holder(worker, "still", words.format(_in_phase(worker))) for worker in looked_at]


def _in_phase(worker: Sighting) -> str:
    phase = worker.stall.phase if worker.stall else ""
    return " while it saves" if phase == "save" else " while it evaluates" if phase in ALONE_PHASES else ""


def _behind(stalled: Sequence[Sighting]) -> list[Holder]:
    """Those that stand in an earlier step than all the others, when each has said that it waits."""
    if not all(worker.waits_for_others for worker in stalled):
        return []
    steps = {id(worker): worker.stall.step for worker in stalled if worker.stall is not None and worker.stall.step >= 0}
    if len(steps) < len(stalled) or len(set(steps.values())) < 2:
        return []
    least = min(steps.values())
    return [
        Holder(worker, "behind", f"it is in step {least:,}, the others are further")
        for worker in stalled
        if steps[id(worker)] == least
    ]
