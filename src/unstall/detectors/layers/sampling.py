"""Some of many, drawn at random, in tensors of fixed shape."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from unstall.detectors.layers.boxes import Tensor


class Sample(NamedTuple):
    """Objects first, then background, then places that are not used: there were not as many."""

    place: Tensor  # (batch, count) index into the candidates
    is_object: Tensor  # (batch, count)
    is_used: Tensor  # (batch, count)


def sample(is_object: Tensor, is_background: Tensor, count: int, object_share: float, random_numbers: Tensor) -> Sample:
    """`count` of the candidates (batch, n): objects up to their share, background for the rest, each drawn without return.

    Those with the largest `random_numbers` are drawn, from 0 to 1 for each (`rng.uniform`). Where `count` and the
    share of the objects are larger than all candidates, all of them are: nothing is left to chance then, which is how losses are
    compared with another program's.
    """
    candidates = is_object.shape[1]
    count, max_objects = min(count, candidates), min(int(count * object_share), candidates)
    object_number, object_place = ops.top_k(ops.where(is_object, random_numbers, -1.0), max_objects)
    background_number, background_place = ops.top_k(ops.where(is_background, random_numbers, -1.0), count)
    objects, backgrounds = (
        ops.sum(ops.cast(found >= 0, "int32"), axis=1, keepdims=True) for found in (object_number, background_number)
    )
    number = ops.arange(count, dtype="int32")[None, :]
    drawn = ops.cast(ops.concatenate([object_place, background_place], axis=1), "int32")
    place = at(drawn, ops.where(number < objects, number, max_objects + number - objects))
    return Sample(place, number < objects, number < objects + backgrounds)


def at(values: Tensor, place: Tensor) -> Tensor:
    """(batch, n) or (batch, n, k), and (batch, count), to the values at those places.

    Whole rows are read image by image: `take_along_axis` would look up each of the k by itself on some backends, and one long
    table of all images would have to be gathered from all devices where the images are spread over several.
    """
    values, place = ops.convert_to_tensor(values), ops.cast(place, "int32")
    if len(values.shape) == 2:
        return ops.take_along_axis(values, place, axis=1)
    return ops.vectorized_map(lambda own: ops.take(own[0], own[1], axis=0), (values, place))
