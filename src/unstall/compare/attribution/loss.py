"""Which difference explains the loss: by what entered it, and when it parted.

A loss that differs before anything was learned differs by what it is computed from (data, labels, the model, the loss itself);
one that begins alike and parts later by how it is learned. The amount of each of several changes cannot be known: they are
in the order of how strong such a change usually is, and none of them is given a number of its own. Values of two loss functions
are of two scales: where the function was changed it explains that they differ, unless nothing is learned any more, which shows
on any scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from unstall.compare.attribution.explanation import ChannelExplanation, Explanation
from unstall.compare.attribution.noise import FigureChange
from unstall.compare.differences.difference import LOSS, Difference
from unstall.compare.record import facts

STRENGTHS = {
    "loss": 3.0, "labels": 2.0, "weights": 2.0, "data_contents": 1.8, "model": 1.5, "source": 1.2, "optimizer": 1.0,
    "layers": 0.9, "filters": 0.8, "accumulation": 0.8, "boxes": 0.8, "augmentation": 0.7, "image_size": 0.7,
    "optimizer_setting": 0.6, "batch": 0.6, "precision": 0.5, "version": 0.5,
    "data_size": 0.5, "stages": 0.5, "command": 0.5, "setting": 0.3, "environment": 0.2,
    "large_images": 0.3, "seed": 0.2,
}  # fmt: skip
BY_DECADE = 2.0  # of the learning rate
OF_ANOTHER_OPTIMIZER = 0.9  # of its strength: what its rate has
OF_LEARNING = frozenset({"learning_rate", "optimizer", "optimizer_setting", "accumulation", "batch", "augmentation"})
OF_WHAT_IS_LEARNED = frozenset({"loss", "labels", "data_contents", "model", "weights", "boxes", "precision"})
LESS = 0.25
ROSE = 0.1  # of the first loss
NOT_COUNTED = frozenset({"length"})  # losses are compared at the same step


def explain(
    differences: Sequence[Difference], before: dict[str, Any], after: dict[str, Any], moved: FigureChange, first: FigureChange
) -> ChannelExplanation:
    broke = facts.is_broken(after) and not facts.is_broken(before)
    touching = [each for each in differences if LOSS in each.touches and each.name not in NOT_COUNTED]
    functions = [each for each in touching if each.name == "loss" and each.section == "optimizer"]
    shown = moved if moved.is_clear or not functions else first  # losses that end alike may have begun on two scales
    if not touching or not (shown.is_clear or broke):
        return ChannelExplanation(LOSS)
    if functions and not broke and not (moved.is_clear and _stopped_learning(moved, first)):
        note = f"({'of the first step; ' if shown is first else ''}another loss: its values are of another scale)"
        return ChannelExplanation(LOSS, (Explanation(functions[0], LOSS, shown.by, "", "measured", 1.0, note=note),))
    strengths = [(_beside_others(each, touching, first.is_clear), each) for each in touching]
    whole = sum(value for value, _ in strengths)
    strengths.sort(key=lambda pair: -pair[0])
    how = "measured" if len(touching) == 1 else "possible"
    by = math.nan if broke else moved.by
    is_shared = len([value for value, _ in strengths if value > 0]) > 1 and not broke
    found = [
        Explanation(each, LOSS, by, "", how, value / whole, note=_note(each, first.is_clear), is_shared=is_shared)
        for value, each in strengths if value > 0
    ]  # fmt: skip
    return ChannelExplanation(LOSS, tuple(found))


def _stopped_learning(moved: FigureChange, first: FigureChange) -> bool:
    """The newer run's loss rose from where it began, and the older's fell: that is so on any scale."""
    if moved.before is None or moved.after is None or first.before is None or first.after is None:
        return False
    return moved.after > first.after + abs(first.after) * ROSE and moved.before < first.before


def _beside_others(each: Difference, touching: Sequence[Difference], parts_at_once: bool) -> float:
    """Rates of two optimizers are of two scales: that of another one is a part of its change, and no stronger."""
    value = rate_strength(each, parts_at_once)
    optimizers = [other for other in touching if other.name == "optimizer"]
    if each.name != "learning_rate" or not optimizers:
        return value
    return min(value, OF_ANOTHER_OPTIMIZER * rate_strength(optimizers[0], parts_at_once))


def rate_strength(each: Difference, parts_at_once: bool) -> float:
    value = STRENGTHS.get(each.name, 0.3)
    if each.name == "learning_rate":
        value = _of_rate(each)
    if each.name in OF_LEARNING:
        return value * (LESS if parts_at_once else 1.0)
    if each.name in OF_WHAT_IS_LEARNED - {"labels", "data_contents"}:
        return value * (1.0 if parts_at_once else 0.5)
    return value


def _of_rate(each: Difference) -> float:
    numbers = [value for value in (each.before, each.after) if isinstance(value, int | float) and value > 0]
    return BY_DECADE * abs(math.log10(numbers[1] / numbers[0])) if len(numbers) == 2 else 1.0


def _note(each: Difference, parts_at_once: bool) -> str:
    if parts_at_once and each.name in OF_WHAT_IS_LEARNED:
        return "(from the first step on)"
    return ""
