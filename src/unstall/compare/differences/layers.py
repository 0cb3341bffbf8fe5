"""The layers of two models beside each other: which are the same, grown, new or gone; and what each holds of memory."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Layer:
    name: str
    kind: str
    shape: tuple[int | None, ...]  # of its output, the batch first
    parameters: int
    activation_bytes: int

    @property
    def channels(self) -> int:
        return (self.shape[-1] or 0) if len(self.shape) > 1 else 0

    @property
    def places(self) -> int:
        """Of one image's output: width times height, or what there is between the batch and the channels."""
        return math.prod(size or 1 for size in self.shape[1:-1])


@dataclass(frozen=True)
class Pair:
    """A layer of the older run with that of the newer; either may be none."""

    before: Layer | None
    after: Layer | None

    @property
    def is_wider(self) -> bool:
        """It has weights and gives other channels than before: somebody chose them. What has none follows what is before it.

        Of a model class of one's own the shapes are not known: there other weights must do."""
        if self.before is None or self.after is None or not self.before.parameters:
            return False
        if self.is_of_known_shape:
            return self.before.channels != self.after.channels
        return self.before.parameters != self.after.parameters

    @property
    def is_of_known_shape(self) -> bool:
        return all(layer is None or bool(layer.shape) for layer in (self.before, self.after))

    @property
    def channels_ratio(self) -> float:
        if self.before is None or self.after is None:
            return 1.0
        if self.is_of_known_shape:
            return _ratio(self.before.channels, self.after.channels)
        return math.sqrt(_ratio(self.before.parameters, self.after.parameters))  # wider before and behind

    @property
    def places_ratio(self) -> float:
        return _ratio(self.before.places, self.after.places) if self.before and self.after else 1.0


def follows_width(pair: Pair, pairs: Sequence[Pair]) -> bool:
    """Its places are the channels of a wider layer, turned round: a mixer computes over them."""
    return any(each.is_wider and math.isclose(each.channels_ratio, pair.places_ratio) for each in pairs)


def layers_of(record: dict[str, Any]) -> list[Layer]:
    model = record.get("model")
    rows = model.get("layers") if isinstance(model, dict) else None
    return [_layer(row) for row in rows or [] if isinstance(row, dict)]


def _layer(row: dict[str, Any]) -> Layer:
    return Layer(
        str(row.get("name") or ""), str(row.get("class") or ""), _shape(row.get("output_shape")),
        int(row.get("parameters") or 0), int(row.get("activation_bytes") or 0),
    )  # fmt: skip


def _shape(given: Any) -> tuple[int | None, ...]:
    """Of several outputs, the first."""
    if not isinstance(given, list | tuple) or not given:
        return ()
    if isinstance(given[0], list | tuple):
        return _shape(given[0])
    return tuple(size if isinstance(size, int) else None for size in given)


def beside(before: Sequence[Layer], after: Sequence[Layer]) -> list[Pair]:
    """In order. Layers are the same by their place among those of their class: names that Keras gives by itself count on.

    Where as many layers of some classes stand against as many of others, each became its successor."""
    matcher = difflib.SequenceMatcher(None, [layer.kind for layer in before], [layer.kind for layer in after], autojunk=False)
    pairs: list[Pair] = []
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        old, new = before[old_from:old_to], after[new_from:new_to]
        if tag == "equal":
            pairs += [Pair(was, is_now) for was, is_now in zip(old, new, strict=True)]
        else:
            pairs += [Pair(was, None) for was in old] + [Pair(None, is_now) for is_now in new]
    return pairs


def _ratio(before: int, after: int) -> float:
    return after / before if before and after else 1.0
