"""Follows a folder of runs until somebody is waited for, and on until all have ended: for `unstall diagnose FOLDER --follow`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from unstall.crew.crew import Crew
from unstall.crew.few import few_of, looked_at
from unstall.crew.holding import Holding
from unstall.crew.roster import Roster
from unstall.crew.sighting import Sighting

LOOK_EVERY_S = 1.0


def follow(folder: Path, tell: Callable[[Crew, Holding], None], see: Callable[[Roster], None]) -> None:
    """`tell` is called when somebody new holds the others; `see` after each look. Ends when every worker has."""
    roster = Roster(folder)
    told: set[frozenset[str]] = set()
    while True:
        began = time.monotonic()
        roster.look()
        see(roster)
        standing = roster.holding()
        for crew, holding in standing:
            sure = None if names(holding) in told else looked_at(holding, folder)
            if sure is not None:
                told.add(names(holding))
                tell(few_of(crew, sure, folder), sure)
        told &= {names(holding) for _, holding in standing}
        if have_all_ended(roster.sightings):
            return
        time.sleep(max(0.05, LOOK_EVERY_S - (time.monotonic() - began)))


def names(holding: Holding) -> frozenset[str]:
    return frozenset(holder.sighting.run for holder in holding.holders)


def have_all_ended(sightings: list[Sighting]) -> bool:
    return bool(sightings) and all(sighting.ended for sighting in sightings)
