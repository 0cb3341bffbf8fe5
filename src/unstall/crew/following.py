"""Follows a folder of runs until somebody is waited for, and on until all have ended: for `unstall diagnose FOLDER --follow`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from unstall.crew.crew import Crew
from unstall.crew.few import few_of, looked_at
from unstall.crew.holding import Holding
from unstall.crew.roster import Roster
from unstall.errors import BucketFailed

LOOK_EVERY_S = 1.0

Tell = Callable[[Crew, Holding], None]  # called when somebody new holds the others
See = Callable[[Roster], None]  # called after each look


class Following:
    def __init__(self, roster: Roster, tell: Tell, see: See) -> None:
        self._roster, self._tell, self._see = roster, tell, see
        self._told: set[frozenset[str]] = set()

    def have_all_ended(self) -> bool:
        """After a look, in which it is told who holds the others."""
        roster, folder = self._roster, self._roster.folder
        roster.look()
        self._see(roster)
        standing = roster.holding()
        for crew, holding in standing:
            sure = None if names(holding) in self._told else looked_at(holding, folder)
            if sure is not None:
                self._told.add(names(holding))
                self._tell(few_of(crew, sure, folder), sure)
        self._told &= {names(holding) for _, holding in standing}
        return roster.have_all_ended


def follow(folder: Path, tell: Tell, see: See) -> None:
    """Until every worker has ended."""
    following = Following(Roster(folder), tell, see)
    while True:
        began = time.monotonic()
        if following.have_all_ended():
            return
        time.sleep(max(0.05, LOOK_EVERY_S - (time.monotonic() - began)))


def follow_bucket(place: str, tell: Tell, see: See, say: Callable[[str], None]) -> None:
    """The same of runs in a bucket, where all is seen some seconds later. One that is away for a while is said, once."""
    from unstall.storage.mirroring import LATE_S, mirror_of
    from unstall.storage.mirroring import LOOK_EVERY_S as EVERY_S

    mirror = mirror_of(place)
    roster = Roster(mirror.folder, LATE_S)
    following = Following(roster, tell, see)
    is_away, is_waiting, seen_at = False, False, time.monotonic()
    while True:
        began = time.monotonic()
        try:
            if not mirror.look() and not roster.sightings and not is_waiting:
                say(f"no run lies in {place} yet: it is looked for again and again. Ctrl-C ends it.")
                is_waiting = True
        except BucketFailed as error:
            if not is_away:
                say(f"{error} It is tried again; until then nothing is said of the runs.")
            is_away = True
        else:
            if is_away:
                say(f"{place} is there again.")
            roster.excuse(max(0.0, time.monotonic() - seen_at - EVERY_S))
            is_away, seen_at = False, time.monotonic()
            if following.have_all_ended():
                return
        time.sleep(max(0.05, EVERY_S - (time.monotonic() - began)))


def names(holding: Holding) -> frozenset[str]:
    return frozenset(holder.sighting.run for holder in holding.holders)
