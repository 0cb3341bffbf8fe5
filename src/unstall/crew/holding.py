"""Which worker holds the others, from sightings alone: quickly, of very many, and before any stack is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unstall.crew.places import ALONE_PHASES
from unstall.crew.sighting import Sighting

WAITING_VERDICTS = frozenset({"collective_stuck", "worker_missing"})  # of a worker that waits for others
SILENT_S = 10.0  # the watcher of a program that stands still, and of one that moves, writes more often
LOOKED_AT_S = 12.0  # after so long in a stall a watcher has taken the stacks and said what it knows
MOST_SHARE = 0.5  # of the workers, that can hold the rest: if more look like it, nothing can be said


@dataclass(frozen=True)
class Holder:
    sighting: Sighting
    kind: str  # left | ended | silent | elsewhere | behind
    words: str


@dataclass(frozen=True)
class Holding:
    holders: tuple[Holder, ...]
    held: int  # workers that wait


def who_holds(workers: Sequence[Sighting], now: float) -> Holding | None:
    """None while nobody waits, and where it cannot be told. `now` is by the clock of `heard_at`."""
    going = [worker for worker in workers if not worker.ended]
    stalled = [worker for worker in going if worker.stall is not None]
    waiting = [worker for worker in stalled if WAITING_VERDICTS & worker.verdicts.keys()]
    if not waiting or len(workers) < 2:
        return None
    for found in (_gone(workers), _silent(going, now), _elsewhere(stalled, now), _behind(stalled)):
        holders = [each for each in found if each.sighting not in waiting or each.kind == "behind"]
        if holders and len(holders) <= MOST_SHARE * len(workers):
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
    quiet = [worker for worker in going if now - worker.heard_at >= SILENT_S]
    return [Holder(worker, "silent", f"nothing was heard of it for {now - worker.heard_at:.0f} s") for worker in quiet]


def _elsewhere(stalled: Sequence[Sighting], now: float) -> list[Holder]:
    """Those that stand still, and whose watcher has named another cause than waiting, or none in the time that it takes."""
    found = []
    for worker in stalled:
        if WAITING_VERDICTS & worker.verdicts.keys():
            continue
        named = next(iter(worker.verdicts.items()), None)
        if named is not None:
            found.append(Holder(worker, "elsewhere", f"{named[0]}{f' at {named[1]}' if named[1] else ''}"))
        elif worker.stall is not None and worker.last_at - worker.stall.since >= LOOKED_AT_S:
            found.append(Holder(worker, "elsewhere", f"it stands still{_in_phase(worker)}, and not in a collective operation"))
    return found


def _in_phase(worker: Sighting) -> str:
    phase = worker.stall.phase if worker.stall else ""
    return " while it saves" if phase == "save" else " while it evaluates" if phase in ALONE_PHASES else ""


def _behind(stalled: Sequence[Sighting]) -> list[Holder]:
    """Those that stand in an earlier step than all the others."""
    steps = {id(worker): worker.stall.step for worker in stalled if worker.stall is not None and worker.stall.step >= 0}
    if len(steps) < len(stalled) or len(set(steps.values())) < 2:
        return []
    least = min(steps.values())
    return [
        Holder(worker, "behind", f"it is in step {least:,}, the others are further")
        for worker in stalled
        if steps[id(worker)] == least
    ]
