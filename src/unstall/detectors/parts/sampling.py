"""Some of many, drawn at random, in tensors of fixed shape."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops, random

from unstall.detectors.parts.boxes import Tensor


class Sample(NamedTuple):
    place: Tensor  # (batch, count) index into the candidates
    is_object: Tensor  # (batch, count)
    is_used: Tensor  # (batch, count) false: there were not as many


def sample(is_object: Tensor, is_background: Tensor, count: int, object_share: float, seed: Tensor) -> Sample:
    """`count` of the candidates (batch, n): objects up to their share, background for the rest, each drawn without return.

    The largest of as many random numbers are drawn, which needs no sorting of all candidates.
    """
    candidates = is_object.shape[1]
    most_objects, most_background = min(int(count * object_share), candidates), min(count, candidates)
    chance = random.uniform(ops.shape(is_object), minval=0.0, maxval=1.0, seed=seed, dtype="float32")
    object_chance, object_place = ops.top_k(ops.where(is_object, chance, -1.0), most_objects)
    background_chance, background_place = ops.top_k(ops.where(is_background, chance, -1.0), most_background)
    objects = ops.sum(ops.cast(object_chance >= 0, "int32"), axis=1, keepdims=True)
    takes_background = (background_chance >= 0) & (ops.arange(most_background, dtype="int32")[None, :] < count - objects)
    worth = ops.concatenate([2.0 * ops.cast(object_chance >= 0, "float32"), ops.cast(takes_background, "float32")], axis=1)
    place = ops.concatenate([object_place, background_place], axis=1)
    worth, chosen = ops.top_k(worth, min(count, worth.shape[1]))
    return Sample(ops.take_along_axis(place, ops.cast(chosen, place.dtype), axis=1), worth > 1.5, worth > 0.5)


def at(values: Tensor, place: Tensor) -> Tensor:
    """(batch, n) or (batch, n, k), and (batch, count), to the values at those places."""
    index = ops.cast(place, "int32")
    return ops.take_along_axis(values, index[..., None] if len(values.shape) == 3 else index, axis=1)
