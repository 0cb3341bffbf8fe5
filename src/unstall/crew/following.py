"""Follows a folder of runs until somebody is waited for, and on until all have ended: for `unstall diagnose FOLDER --follow`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from unstall.crew.crew import Crew
from unstall.crew.few import few_of
from unstall.crew.holding import Holding
from unstall.crew.roster import Roster
from unstall.crew.sighting import Sighting

LOOK_EVERY_S = 1.0


def follow(folder: Path, tell: Callable[[Crew, Holding], None], see: Callable[[Roster], None] | None = None) -> None:
    """`tell` is called when somebody new holds the others; `see` after each look. Ends when every worker has."""
    roster = Roster(folder)
    told: set[frozenset[str]] = set()
    while True:
        began = time.monotonic()
        roster.look()
        if see is not None:
            see(roster)
        standing = roster.holding()
        for crew, holding in standing:
            holders = names(holding)
            if holders not in told:
                told.add(holders)
                tell(few_of(crew, holding, folder), holding)
        told &= {names(holding) for _, holding in standing}
        if have_all_ended(roster.sightings):
            return
        time.sleep(max(0.05, LOOK_EVERY_S - (time.monotonic() - began)))


def names(holding: Holding) -> frozenset[str]:
    return frozenset(holder.sighting.run for holder in holding.holders)


def have_all_ended(sightings: list[Sighting]) -> bool:
    return bool(sightings) and all(sighting.ended for sighting in sightings)
