"""Of very many workers those that are worth reading whole: who holds the others, and some of those that wait."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unstall.crew.crew import Crew
from unstall.crew.holding import Holder, Holding, who_holds
from unstall.crew.places import Doing, place_of
from unstall.crew.reading import members_of
from unstall.crew.roster import Roster
from unstall.crew.sighting import Sighting
from unstall.runs import RunFolder

READ_WHOLE_UP_TO = 40
MOST_HOLDERS, MOST_WAITING = 8, 8
LOOKED_AT = frozenset({"elsewhere", "still"})  # kinds of holders that stacks can confirm


def few_of(crew: Sequence[Sighting], holding: Holding | None, folder: Path) -> Crew:
    """The crew with a few of its members read; of the rest it is known that they are there."""
    holders = [holder.sighting for holder in holding.holders[:MOST_HOLDERS]] if holding else []
    rest = [sighting for sighting in crew if all(sighting is not each for each in holders)]
    stalled = sorted(rest, key=lambda sighting: (sighting.stall is None, sighting.worker or 0))
    chosen = sorted([*holders, *stalled[:MOST_WAITING]], key=lambda sighting: sighting.worker or 0)
    members = [member for sighting in chosen for member in members_of(RunFolder(folder / sighting.run))]
    return Crew(tuple(members), frozenset(sighting.worker for sighting in crew if sighting.worker is not None))


def looked_at(holding: Holding, folder: Path) -> Holding | None:
    """What is left of it when the stacks of those that are said to stand elsewhere have been read; None: nothing."""
    kept = [holder for holder in holding.holders[:MOST_HOLDERS] if holder.kind not in LOOKED_AT or _stands(holder, folder)]
    return replace(holding, holders=tuple(kept)) if kept else None


def _stands(holder: Holder, folder: Path) -> bool:
    seen = members_of(RunFolder(folder / holder.sighting.run))
    doing = {place_of(member).doing for member in seen}
    return Doing.STANDS in doing or (Doing.UNSEEN in doing and holder.kind == "elsewhere")


def crews_of_many(folder: Path) -> tuple[list[Crew], list[str]]:
    """As they are now, and the names of the runs that belong to none. A crew that is not large is read whole. Silence is judged
    by when the files were written, as this is the first look at them."""
    roster = Roster(folder)
    roster.look()
    now = time.time()
    for sighting in roster.sightings:
        sighting.heard_at = _written_at(folder / sighting.run)
    groups = roster.crews()
    crews = [
        _whole(group, folder) if len(group) <= READ_WHOLE_UP_TO else few_of(group, who_holds(group, now), folder)
        for group in groups
    ]
    together = {sighting.run for group in groups for sighting in group}
    return crews, sorted(sighting.run for sighting in roster.sightings if sighting.run not in together and sighting.last_at)


def _whole(group: Sequence[Sighting], folder: Path) -> Crew:
    ordered = sorted(group, key=lambda sighting: sighting.worker or 0)
    return Crew(tuple(member for sighting in ordered for member in members_of(RunFolder(folder / sighting.run))))


def _written_at(run: Path) -> float:
    return max((path.stat().st_mtime for path in run.glob("events-*.jsonl")), default=0.0)
