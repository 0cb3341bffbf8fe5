"""What a training step holds, by arithmetic over what was recorded: of the older run, with some changes of the newer.

The terms are no bytes of an allocator yet: how many copies of its activations a step keeps is found out from what was measured
(`attribution_memory`). Two runs have the same terms where nothing of them changed; so only their differences matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from unstall.compare.differences.model import Pair, is_width_scaled, pair_layers, read_layers
from unstall.compare.record import facts

WEIGHT_BYTES = 4  # variables stay in float32, whatever layers compute in
CHANNELS = 3
GUESSED_CHANNELS = 64.0  # at each place of the input, in all layers together: at first many places, later many channels
DECODED_BYTES = 5  # of a value: as a byte, and as a float
# Values that an optimizer keeps of each parameter.
SLOTS = {
    "sgd": 0, "adam": 2, "adamw": 2, "nadam": 2, "adamax": 2, "rmsprop": 1, "adagrad": 1, "adadelta": 2, "ftrl": 2, "lion": 1,
    "lamb": 2, "adafactor": 0, "muon": 1, "lossscaleoptimizer": 0,
}  # fmt: skip
MODELLED = frozenset({
    "batch", "image_size", "filters", "layers", "model", "precision", "optimizer", "accumulation", "boxes", "large_images",
    "prefetch", "data_size",
})  # fmt: skip
Terms = dict[str, float]


@dataclass(frozen=True)
class RunPair:
    """Two records, and which values a step of the older would have with these changes of the newer."""

    before: dict[str, Any]
    after: dict[str, Any]
    pairs: tuple[Pair, ...]

    @classmethod
    def of(cls, before: dict[str, Any], after: dict[str, Any]) -> RunPair:
        return cls(before, after, tuple(pair_layers(read_layers(before), read_layers(after))))

    def terms(self, changes: Iterable[str]) -> Terms:
        with_these = frozenset(changes)
        parameters = self._parameters(with_these)
        return {
            "activations": self._activations(with_these) if self.knows_activations else 0.0,
            "guessed": 0.0 if self.knows_activations else self._guessed(with_these),
            "weights": 2.0 * WEIGHT_BYTES * parameters,  # and their gradients
            "slots": WEIGHT_BYTES * parameters * self._slots(with_these),
            "input": self._input(with_these),
            "decoding": self._decoding(with_these),
            "matching": self._matching(with_these),
            "data": self._chosen(with_these, "data_size", facts.compute_held_bytes) or 0.0,
        }

    def work(self, changes: Iterable[str]) -> float:
        """Multiplications of a step, as a measure: parameters by places by images."""
        with_these = frozenset(changes)
        batch, total = self._batch(with_these), 0.0
        for pair in self.pairs:
            layer = self._layer(pair, with_these)
            if layer is not None:
                total += self._parameters_of(pair, with_these) * self._places(pair, with_these) * batch
        return total or batch * (self._area(with_these) or 1.0)

    @property
    def knows_activations(self) -> bool:
        """Of a model class of one's own nobody knows what its layers give."""
        return any(pair.before is not None and pair.before.activation_bytes for pair in self.pairs)

    @property
    def knows_what_is_new(self) -> bool:
        """What is inside of an attention, say, gives something that Keras knows no shape of: what it holds has no bounds then."""
        alone = [pair.before or pair.after for pair in self.pairs if pair.before is None or pair.after is None]
        return all(layer is not None and layer.activation_bytes for layer in alone)

    # --- what is taken from which run ---

    def _chosen(self, changes: frozenset[str], kind: str, read: Callable[[dict[str, Any]], Any]) -> Any:
        return read(self.after if kind in changes else self.before)

    def _batch(self, changes: frozenset[str]) -> float:
        return float(self._chosen(changes, "batch", facts.read_batch_size) or 1)

    def _area(self, changes: frozenset[str]) -> float | None:
        """Of the largest image that is fed."""
        kind = "image_size" if facts.read_image_size(self.before) != facts.read_image_size(self.after) else "large_images"
        area: float | None = self._chosen(changes, kind, facts.compute_fed_area)
        return area

    def _area_ratio(self, changes: frozenset[str]) -> float:
        was, is_now = self._area(frozenset()), self._area(changes)
        return is_now / was if was and is_now else 1.0

    def _width(self, changes: frozenset[str]) -> float:
        """Of one value of an activation, in bytes."""
        return facts.compute_width_bytes(self._chosen(changes, "precision", facts.read_precision))

    def _slots(self, changes: frozenset[str]) -> float:
        optimizer = self._chosen(changes, "optimizer", lambda record: facts.get_section(record, "optimizer"))
        name = str(optimizer.get("class") or "").lower()
        slots = SLOTS.get(name, 1)
        if name in {"sgd", "rmsprop"} and (optimizer.get("momentum") or 0) > 0:
            slots += 1
        accumulates = (self._chosen(changes, "accumulation", facts.read_accumulation) or 1) > 1
        return slots + (1 if accumulates else 0)

    # --- the terms ---

    def _activations(self, changes: frozenset[str]) -> float:
        batch = self._batch(changes) / self._batch(frozenset())
        width = self._width(changes) / self._width(frozenset())
        total = 0.0
        for pair in self.pairs:
            layer = self._layer(pair, changes)
            if layer is None:
                continue
            if pair.before is not None:
                grown = pair.channels_ratio if changes & self._widens(pair) else 1.0
                total += pair.before.activation_bytes * batch * width * grown * self._places_ratio(pair, changes)
            else:
                total += self._as_before(layer.activation_bytes) * batch * width * self._area_ratio(changes)
        return total

    def _guessed(self, changes: frozenset[str]) -> float:
        """Layers that are not known: so many channels at every place of the input, more of them where there are more weights."""
        images = self._batch(changes) * (self._area(changes) or 1.0) * self._width(changes)
        weights = self._parameters(changes) / (self._parameters(frozenset()) or 1.0)
        return GUESSED_CHANNELS * images * math.sqrt(weights)

    def _widens(self, pair: Pair) -> frozenset[str]:
        """The changes that give a layer other channels. One without weights follows what is before it, or a larger image."""
        has_wider = any(each.is_wider for each in self.pairs)
        return frozenset({"filters", "model"}) if pair.is_wider or has_wider else frozenset({"image_size", "model"})

    def _as_before(self, count: float) -> float:
        """Of a layer that the newer run alone has: at the batch, the size and the precision of the older."""
        everything = frozenset({"batch", "precision", "image_size", "large_images"})
        batch = self._batch(everything) / self._batch(frozenset())
        width = self._width(everything) / self._width(frozenset())
        return count / (batch * width * self._area_ratio(everything))

    def _layer(self, pair: Pair, changes: frozenset[str]) -> Any:
        has_new_layers = bool(changes & {"layers", "model"})
        if pair.before is None:
            return pair.after if has_new_layers else None
        return None if pair.after is None and has_new_layers else pair.before

    def _places_ratio(self, pair: Pair, changes: frozenset[str]) -> float:
        layer = pair.before or pair.after
        if layer is not None and None in layer.shape[1:-1]:  # as large as what is fed
            return self._area_ratio(changes)
        resized = facts.read_image_size(self.before) != facts.read_image_size(self.after)
        if not resized and is_width_scaled(pair, self.pairs):
            return pair.places_ratio if changes & {"filters", "model"} else 1.0
        is_changed = "image_size" in changes if resized else bool(changes & {"layers", "model", "large_images"})
        return pair.places_ratio if is_changed else 1.0

    def _places(self, pair: Pair, changes: frozenset[str]) -> float:
        if pair.before is None:
            after = pair.after.places if pair.after else 1
            return after / self._area_ratio(frozenset({"image_size", "large_images"})) * self._area_ratio(changes)
        return pair.before.places * self._places_ratio(pair, changes)

    def _parameters(self, changes: frozenset[str]) -> float:
        if not self.pairs:
            count = self._chosen(changes, "model", facts.count_parameters)
            return float(count or 0)
        return sum(self._parameters_of(pair, changes) for pair in self.pairs if self._layer(pair, changes) is not None)

    def _parameters_of(self, pair: Pair, changes: frozenset[str]) -> float:
        if pair.before is None or pair.after is None:
            layer = pair.before or pair.after
            return float(layer.parameters) if layer else 0.0
        has_wider = any(each.is_wider for each in self.pairs)
        by = {"filters", "model"} if has_wider else {"image_size", "layers", "model"}
        return float(pair.after.parameters if changes & by else pair.before.parameters)

    def _input(self, changes: frozenset[str]) -> float:
        batch = self._batch(changes) / self._batch(frozenset())
        ahead = 1.0 + float(self._chosen(changes, "prefetch", facts.count_batches_ahead) or 0)
        return (facts.compute_input_bytes(self.before) or 0.0) * batch * self._area_ratio(changes) * ahead

    def _decoding(self, changes: frozenset[str]) -> float:
        """The largest image while it is read, in as many threads as read at once."""
        largest = (
            self._chosen(changes, "large_images", lambda record: facts.find_largest_area(facts.get_section(record, "data")))
            or 0.0
        )
        at_once = self._chosen(changes, "parallelism", facts.count_read_at_once) or 1
        return float(largest) * CHANNELS * DECODED_BYTES * float(at_once)

    def _matching(self, changes: frozenset[str]) -> float:
        """Boxes against all outputs: a loss of detectors compares each with each."""
        boxes = self._chosen(changes, "boxes", facts.read_max_boxes_per_image) or 0.0
        return float(boxes) * (facts.count_output_rows(self.before) or 1.0) * self._batch(changes) * WEIGHT_BYTES
