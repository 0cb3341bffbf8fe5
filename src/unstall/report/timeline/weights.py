"""Gradients and updates over the run, by groups of layers, as far as they are known.

The probe reads some of a model's variables now and then. Those of neighbouring layers are put together, so that a deep model
gives a few lines from its first layers to its last. The project's own trainer tells the norms of groups itself, of all weights.
"""

from __future__ import annotations

import math
from typing import Any

from unstall.journal.events import Event, UpdatesMeasured, WeightsSampled
from unstall.report.timeline.bins import NamedSeries
from unstall.report.timeline.plots import Plot, line_plot

MAX_GROUPS = 8
MAX_POINTS = 300
MAX_NAMES = 2 * MAX_GROUPS  # a program may train two models
OF_SOME = "Of the variables that were read, from the first layers to the last."
OF_ALL = "Of all weights that learn, before they are cut; means over the updates since the point before."


class Weights:
    def __init__(self) -> None:
        self._gradients = NamedSeries(MAX_POINTS, MAX_NAMES)
        self._updates = NamedSeries(MAX_POINTS, MAX_NAMES)
        self._note = OF_SOME
        self._names: tuple[str, ...] = ()
        self._groups: dict[str, str] = {}

    def take(self, event: Event, moment: float) -> None:
        if isinstance(event, UpdatesMeasured):
            self._note = OF_ALL
            for group, norm in event.norms.items():
                self._gradients.add(str(group), moment, norm)
        if not isinstance(event, WeightsSampled):
            return
        weights = [weight for weight in event.facts.get("weights") or [] if isinstance(weight, dict)]
        names = tuple(str(weight.get("name", "")) for weight in weights)
        if names != self._names:
            self._names, self._groups = names, groups(names)
        for group, members in self._by_group(weights).items():
            self._gradients.add(group, moment, _norm(members, "gradient"))
            self._updates.add(group, moment, _ratio(_norm(members, "step"), _norm(members, "rms")))

    def _by_group(self, weights: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for name, weight in zip(self._names, weights, strict=True):
            found.setdefault(self._groups[name], []).append(weight)
        return found

    def plots(self, seconds: float) -> list[Plot | None]:
        return [
            line_plot("gradients", "Gradient norms by group of layers", "", self._gradients.series, seconds, note=self._note),
            line_plot("updates", "Size of an update against the weights", "", self._updates.series, seconds, note=OF_SOME),
        ]


def groups(names: tuple[str, ...]) -> dict[str, str]:
    """Each variable's group: its layer, or its layer with the neighbours where there are many. 'a/conv/kernel' is of 'a/conv'."""
    layers = list(dict.fromkeys(_layer(name) for name in names))
    common = _common_folder(layers)
    each = max(1, -(-len(layers) // MAX_GROUPS))
    called: dict[str, str] = {}
    for first in range(0, len(layers), each):
        members = layers[first : first + each]
        ends = list(dict.fromkeys(member[len(common) :] or member for member in (members[0], members[-1])))
        called.update(dict.fromkeys(members, " … ".join(ends)))
    return {name: called[_layer(name)] for name in names}


def _layer(name: str) -> str:
    return name.rpartition("/")[0] or name


def _common_folder(layers: list[str]) -> str:
    """What all paths begin with, up to a slash: the name of the model tells nothing."""
    if len(layers) < 2:
        return ""
    first, last = min(layers), max(layers)
    length = next((place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[: first.rfind("/", 0, length) + 1]


def _norm(members: list[dict[str, Any]], key: str) -> float | None:
    """Of all members together, from the root mean square of each. None where one of them was not seen."""
    total = 0.0
    for member in members:
        value = member.get(key)
        if not isinstance(value, int | float):
            return None
        total += float(value) ** 2 * math.prod(member.get("shape") or [1])
    return math.sqrt(total)


def _ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None
