"""Runs that are workers of one training, in the list: which belong together, and which of them holds the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unstall.board.rows import Row
from unstall.crew.holding import Holding, who_holds
from unstall.crew.sighting import Sighting

OVERLAP_SLACK_S = 600.0  # as for those that are read together


def put_together(seen: Iterable[tuple[Row, Sighting]], now: float) -> dict[str, dict[str, Any]]:
    """For each run of a group of at least two, its place in it: by the name of the run."""
    told: dict[str, dict[str, Any]] = {}
    for group in _groups(seen):
        holding = who_holds([sighting for _, sighting in group], now)
        first = min(row["run"] for row, _ in group)
        for row, sighting in group:
            told[row["run"]] = {**row["crew"], "group": first, **_part(sighting, holding)}
    return told


def _groups(seen: Iterable[tuple[Row, Sighting]]) -> list[list[tuple[Row, Sighting]]]:
    clusters: dict[tuple[str, int | None], list[tuple[Row, Sighting]]] = {}
    for row, sighting in seen:
        clusters.setdefault((sighting.cluster, sighting.of), []).append((row, sighting))
    groups = []
    for rows in clusters.values():
        groups += _by_time(sorted(rows, key=lambda each: -(each[0]["began_at"] or each[0]["changed_at"])))
    return [group for group in groups if len(group) > 1]


def _by_time(rows: list[tuple[Row, Sighting]]) -> list[list[tuple[Row, Sighting]]]:
    """Of trainings one after the other at one address, each by itself: a number stands in a group once."""
    groups: list[list[tuple[Row, Sighting]]] = []
    for row, sighting in rows:
        for group in groups:
            is_free = all(other.worker != sighting.worker for _, other in group)
            earliest = min(each["began_at"] or each["changed_at"] for each, _ in group)
            if is_free and row["changed_at"] + OVERLAP_SLACK_S > earliest:
                group.append((row, sighting))
                break
        else:
            groups.append([(row, sighting)])
    return groups


def _part(sighting: Sighting, holding: Holding | None) -> dict[str, Any]:
    if holding is None:
        return {"holds": None, "held_by": None}
    own = next((holder for holder in holding.holders if holder.sighting is sighting), None)
    if own is not None:
        return {"holds": {"words": own.words, "count": holding.held}, "held_by": None}
    return {"holds": None, "held_by": holding.holders[0].sighting.name}
