"""Which difference explains how two runs differed, with an amount each; the main cause first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unstall.compare import attribution_loss, attribution_memory, attribution_time, facts, noise
from unstall.compare.attribution_memory import Alone
from unstall.compare.difference import Difference
from unstall.compare.differences import differences
from unstall.compare.explanation import Explained, Explanation
from unstall.compare.noise import Moved

CHANNELS = ("memory", "free", "time", "loss")
WEIGHTS = {"memory": 1.0, "free": 1.0, "time": 0.5, "loss": 0.7}  # time is what else moves most by itself
FAILED = 10.0  # times: what the newer run failed of is what is asked for
MOST_MOVED = 3.0
LIKELY = {"measured": 1.0, "planned": 1.0, "by arithmetic": 0.9, "possible": 0.6}
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Comparison:
    differences: tuple[Difference, ...]  # the main cause first
    moved: dict[str, Moved]
    explained: tuple[Explained, ...]

    @property
    def explanations(self) -> list[Explanation]:
        """All of them, those of the main cause first."""
        places = {each: place for place, each in enumerate(self.differences)}
        own = [each for explained in self.explained for each in explained.explanations]
        return sorted(own, key=lambda each: (places[each.difference], CHANNELS.index(each.channel)))

    def of_channel(self, channel: str) -> Explained:
        return next((each for each in self.explained if each.channel == channel), Explained(channel))


def compared(
    before: dict[str, Any], after: dict[str, Any], planned: Callable[[Sequence[Difference]], Alone | None] = lambda _: None
) -> Comparison:
    """Two records beside each other. `planned` plans memory with one change at a time, where it can."""
    found = differences(before, after)
    moved = noise.all_moved(before, after)
    explained = (
        attribution_memory.explain(found, before, after, moved["memory"], planned(found) if found else None),
        attribution_memory.free(found, after),
        attribution_time.explain(found, before, after, moved),
        attribution_loss.explain(found, before, after, moved["loss"], moved["first loss"]),
    )
    kept = tuple(_without_small(each) for each in explained)
    ranked = sorted(found, key=lambda each: -(_importance(each, kept, moved, after) + 0.001 * each.weight))
    return Comparison(tuple(ranked), moved, kept)


def _without_small(explained: Explained) -> Explained:
    kept = tuple(each for each in explained.explanations if each.share >= LEAST_SHARE)
    return replace(explained, explanations=kept)


def _importance(each: Difference, explained: Sequence[Explained], moved: dict[str, Moved], after: dict[str, Any]) -> float:
    """How much of what matters it explains: a channel counts by how far it moved, the one that the run failed of most."""
    failed = facts.failed_of(after)
    best = 0.0
    for channel in explained:
        for own in channel.explanations:
            if own.difference is not each:
                continue
            weight = WEIGHTS[channel.channel] * (FAILED if channel.channel in failed else 1.0)
            best = max(best, weight * LIKELY[own.how] * own.share * _strength(own, moved, channel.channel in failed))
    return best


def _strength(own: Explanation, moved: dict[str, Moved], is_failed: bool) -> float:
    if own.channel == "free" or math.isnan(own.amount):
        return MOST_MOVED
    name = {"memory": "memory", "loss": "loss", "time": "step"}[own.channel]
    moving = moved.get(own.part) if own.part in {"compile", "validation", "checkpoint"} else moved.get(name)
    share = moving.share if moving is not None else 0.0
    if own.part in {"validation", "checkpoint", "compile"}:
        share *= 0.3  # seldom what is asked about
    return MOST_MOVED if is_failed and own.channel == "memory" else min(share, MOST_MOVED)
