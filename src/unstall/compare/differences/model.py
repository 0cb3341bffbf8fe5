"""What differs in what is trained, and how: the batch, the size of images, layers, the optimizer, the loss, precision."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unstall.compare.differences.difference import Difference, create_difference, format_value
from unstall.compare.record import facts

MAX_NAMED = 4  # layers, in a sentence
RATES = ("learning_rate", "schedule", "lr_schedule")
EXECUTION = ("jit_compile", "run_eagerly", "steps_per_execution")
NO_CHANGE = ("class", "name", "where", "around", "unread", *EXECUTION)  # beside its numbers: told elsewhere, or nothing


def find_model_differences(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    yield from _of_batch(before, after)
    yield from _of_layers(before, after)
    yield from _of_optimizer(facts.get_section(before, "optimizer"), facts.get_section(after, "optimizer"))
    yield from _of_loss(before, after)
    yield from _of_execution(before, after)


def _of_batch(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = facts.read_batch_size(before), facts.read_batch_size(after)
    if old and new and old != new:
        yield create_difference("batch", "batch", old, new)
    old_size, new_size = facts.read_image_size(before), facts.read_image_size(after)
    if old_size and new_size and old_size != new_size:
        words = f"image size {_by(old_size)} → {_by(new_size)}"
        yield create_difference("batch", "image_size", list(old_size), list(new_size), words)
    old_type, new_type = facts.read_input_dtype(before), facts.read_input_dtype(after)
    if old_type and new_type and old_type != new_type:
        yield create_difference("batch", "precision", old_type, new_type, f"inputs {old_type} → {new_type}", "inputs")
    old_rows, new_rows = facts.count_target_rows(before), facts.count_target_rows(after)
    if old_rows and new_rows and old_rows != new_rows and facts.has_boxes(before, after):
        yield create_difference("batch", "boxes", old_rows, new_rows, f"boxes of an image, as fed, {old_rows:,} → {new_rows:,}")


def _by(size: tuple[int, int]) -> str:
    return f"{size[1]}×{size[0]}"


def _of_layers(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = read_layers(before), read_layers(after)
    if not old or not new:
        return
    pairs = pair_layers(old, new)
    same_input = facts.read_image_size(before) == facts.read_image_size(after)
    grown = [pair for pair in pairs if pair.is_wider and (same_input or pair.is_of_known_shape)]
    lost = [pair.before for pair in pairs if pair.after is None and pair.before]
    added = [pair.after for pair in pairs if pair.before is None and pair.after]
    parameters = _parameters(before, after)
    if grown and not (lost and added and len(lost) + len(added) > len(grown)):
        widths = [[_width(layer) for layer in each] for each in zip(*((pair.before, pair.after) for pair in grown), strict=True)]
        yield create_difference("model", "filters", widths[0], widths[1], f"filters: {_named(grown)}{parameters}")
    if lost or added:
        text = [f"new: {_counted([layer.kind for layer in added])}"] if added else []
        text += [f"gone: {_counted([layer.kind for layer in lost])}"] if lost else []
        words = f"layers {len(old)} → {len(new)}: {'; '.join(text)}{parameters}"
        yield create_difference("model", "layers", len(old), len(new), words)
    places = [
        pair for pair in pairs if pair.before and pair.after and pair.places_ratio != 1.0 and not is_width_scaled(pair, pairs)
    ]
    if same_input and places and not (lost or added):
        first = places[0]
        words = f"output of {first.after.name if first.after else ''} {_shapes(first)}"
        yield create_difference("model", "layers", _plain_shape(first.before), _plain_shape(first.after), words, "strides")


def _named(grown: list[Pair]) -> str:
    parts = [f"{pair.after.name} {_width(pair.before)} → {_width(pair.after)}" for pair in grown if pair.after]
    distinct = list(dict.fromkeys(parts))
    more = len(distinct) - MAX_NAMED
    return ", ".join(distinct[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _width(layer: Layer | None) -> int:
    """Its channels; where its shape is not known, its weights."""
    return 0 if layer is None else layer.channels or layer.parameters


def _counted(kinds: list[str]) -> str:
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    rows = [f"{count} × {kind}" if count > 1 else kind for kind, count in list(counts.items())[:MAX_NAMED]]
    return ", ".join(rows)


def _parameters(before: dict[str, Any], after: dict[str, Any]) -> str:
    old, new = facts.count_parameters(before), facts.count_parameters(after)
    return f"; {old:,} → {new:,} parameters" if old and new and old != new else ""


def _shapes(pair: Pair) -> str:
    return f"{_plain_shape(pair.before)} → {_plain_shape(pair.after)}"


def _plain_shape(layer: Any) -> list[int | None]:
    return list(layer.shape[1:]) if layer is not None else []


def _of_optimizer(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    if not before or not after:
        return
    old, new = before.get("class"), after.get("class")
    if old and new and old != new:
        yield create_difference("optimizer", "optimizer", old, new)
    unread = [*(before.get("unread") or ()), *(after.get("unread") or ())]  # there, with a value that was not seen
    for name in sorted({*before, *after}):
        was, is_now = before.get(name), after.get(name)
        if name in NO_CHANGE or name in unread or facts.are_equal(was, is_now):
            continue
        if name in RATES:
            yield create_difference("optimizer", "learning_rate", was, is_now, detail=name)
        elif name == "gradient_accumulation_steps":
            words = f"gradients accumulated over {format_value(was or 1)} → {format_value(is_now or 1)} steps"
            yield create_difference("optimizer", "accumulation", was or 1, is_now or 1, words)
        elif old == new:  # another optimizer has other settings: that is told already
            yield create_difference("optimizer", "optimizer_setting", was, is_now, detail=name)


def _of_loss(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = facts.read_losses(before), facts.read_losses(after)
    if old and new and old != new:
        yield create_difference("optimizer", "loss", old, new, f"loss {', '.join(old)} → {', '.join(new)}")


def _of_execution(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    old, new = facts.read_precision(before), facts.read_precision(after)
    if old and new and old != new:
        yield create_difference("model", "precision", old, new)
    for name in EXECUTION:
        was, is_now = facts.describe_execution(before, name), facts.describe_execution(after, name)
        if was is not None and is_now is not None and was != is_now:
            yield create_difference("model", "execution", was, is_now, detail=name)
    old_backend, new_backend = facts.read_backend(before), facts.read_backend(after)
    if old_backend and new_backend and old_backend != new_backend:
        yield create_difference("model", "backend", old_backend, new_backend)


# --- the layers of two models beside each other: which are the same, grown, new or gone, and what each holds of memory ---


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


def is_width_scaled(pair: Pair, pairs: Sequence[Pair]) -> bool:
    """Its places are the channels of a wider layer, turned round: a mixer computes over them."""
    return any(each.is_wider and math.isclose(each.channels_ratio, pair.places_ratio) for each in pairs)


def read_layers(record: dict[str, Any]) -> list[Layer]:
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


def pair_layers(before: Sequence[Layer], after: Sequence[Layer]) -> list[Pair]:
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
