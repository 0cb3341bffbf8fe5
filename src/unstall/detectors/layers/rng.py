"""Random numbers that are a matter of where they stand, and of nothing else: of a key, the image's place in the whole batch and
the candidate's number. So a batch that is computed in parts draws what it draws as a whole, and every backend draws the same."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from unstall.detectors.layers.boxes import Tensor

# Two odd factors and three shifts, after which every bit of a number hangs on every bit of the one before.
FACTORS = (0x7FEB352D, 0x846CA68B - 2**32)  # as int32 holds them: every backend multiplies these alike, dropping what overflows
SHIFTS = (16, 15, 16)
STREAM = 0x1B873593  # between the numbers of one use and those of another
BITS = 24  # that a float32 from 0 to 1 holds


class Draw(NamedTuple):
    """What is drawn in one step."""

    key: Tensor  # (2,) int32
    first_image: Any = 0  # where the first image of this part stands in the whole batch


def draw_of(seed: Any) -> Draw:
    """Of a Draw, of a number, of a keras.random.SeedGenerator (another one at each call); of nothing: the same each time."""
    if isinstance(seed, Draw):
        return seed
    if isinstance(seed, keras.random.SeedGenerator):
        return Draw(ops.cast(seed.next(), "int32"))
    return Draw(ops.convert_to_tensor([seed or 0, 0], dtype="int32"))


def uniform(draw: Draw, stream: int, images: Any, candidates: int) -> Tensor:
    """(images, candidates) from 0 to below 1, in float32. `stream` tells the uses of one draw apart."""
    places = ops.arange(images, dtype="int32") + draw.first_image
    of_image = _mixed(ops.bitwise_xor(_mixed(ops.bitwise_xor(places, draw.key[0])) + stream * STREAM, draw.key[1]))
    of_candidate = _mixed(ops.arange(candidates, dtype="int32"))
    mixed = _mixed(ops.bitwise_xor(of_image[:, None], of_candidate[None]))
    return ops.cast(_shifted(mixed, 32 - BITS), "float32") * 2.0**-BITS


def _mixed(x: Tensor) -> Tensor:
    for shift, factor in zip(SHIFTS, (*FACTORS, 1), strict=True):
        x = ops.bitwise_xor(x, _shifted(x, shift)) * factor
    return x


def _shifted(x: Tensor, by: int) -> Tensor:
    """To the right, filled up with zeros: a plain shift fills up with the sign."""
    return ops.bitwise_and(ops.right_shift(x, by), 2 ** (32 - by) - 1)


# Some of many, drawn at random, in tensors of fixed shape.


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
    place = gather_at(drawn, ops.where(number < objects, number, max_objects + number - objects))
    return Sample(place, number < objects, number < objects + backgrounds)


def gather_at(values: Tensor, place: Tensor) -> Tensor:
    """(batch, n) or (batch, n, k), and (batch, count), to the values at those places.

    Whole rows are read image by image: `take_along_axis` would look up each of the k by itself on some backends, and one long
    table of all images would have to be gathered from all devices where the images are spread over several.
    """
    values, place = ops.convert_to_tensor(values), ops.cast(place, "int32")
    if len(values.shape) == 2:
        return ops.take_along_axis(values, place, axis=1)
    return ops.vectorized_map(lambda own: ops.take(own[0], own[1], axis=0), (values, place))
