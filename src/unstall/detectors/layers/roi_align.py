"""ROI align: of each region a grid of features, read between the pixels of the pyramid's level that suits the region's size.

As torchvision's `MultiScaleRoIAlign` with `aligned=False`: regions are not moved by half a pixel, and none is narrower than one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from keras import ops

from unstall.backends.ops import gather_weighted_rows
from unstall.detectors.layers.boxes import Tensor, area
from unstall.detectors.layers.rng import gather_at

CANONICAL_PX = 224.0  # a region of this size …
CANONICAL_LEVEL = 4  # … belongs to this level of the pyramid
EPSILON = 1e-6


def roi_align(features: Sequence[Tensor], strides: Sequence[int], regions: Tensor, side: int, samples: int) -> Tensor:
    """Features (batch, height, width, channels) of each level and regions (batch, n, 4) in pixels of the input, to float32
    (batch, n, side, side, channels): each cell is the mean of samples × samples readings.

    Each reading lies between two rows and two columns of pixels, so that a cell is a sum of (2 · samples)² pixels. Of two levels
    with the same stride the first is read.
    """
    lowest, highest = round(math.log2(strides[0])), round(math.log2(strides[-1]))
    features, strides = features[: highest - lowest + 1], strides[: highest - lowest + 1]
    regions = ops.convert_to_tensor(regions)
    level = assign_level(regions, lowest, highest) - lowest
    heights, widths = (np.array([feature.shape[axis] for feature in features], np.int32) for axis in (1, 2))
    begins = np.concatenate([[0], np.cumsum(heights * widths)[:-1]]).astype(np.int32)

    def of_level(values: np.ndarray) -> Tensor:
        return ops.take(ops.convert_to_tensor(values), level, axis=0)

    scaled = regions * of_level(1.0 / np.array(strides, np.float32))[..., None]
    rows, row_weights = _pixels(scaled[..., 1], scaled[..., 3], of_level(heights), side, samples)
    columns, column_weights = _pixels(scaled[..., 0], scaled[..., 2], of_level(widths), side, samples)
    rows = rows * of_level(widths)[..., None, None] + of_level(begins)[..., None, None]
    place = rows[:, :, :, :, None, None] + columns[:, :, None, None, :, :]
    weight = row_weights[:, :, :, :, None, None] * column_weights[:, :, None, None, :, :]
    return _weighed(_in_one(features), place, weight)


def _weighed(pixels: Tensor, place: Tensor, weight: Tensor) -> Tensor:
    """Read row by row of a region, so that what is read in turn lies beside each other (on a card 6 % of a step less than cell by
    cell); where the backend has a sum of rows, cell by cell."""
    _, regions, side, terms, *_ = place.shape
    summed = gather_weighted_rows(pixels, _by_cell(place), _by_cell(weight))
    if summed is not None:
        return ops.reshape(summed, (-1, regions, side, side, pixels.shape[-1]))
    read = gather_at(pixels, ops.reshape(place, (-1, math.prod(place.shape[1:]))))
    read = ops.reshape(read, (-1, regions, side, terms, side, terms, pixels.shape[-1]))
    return ops.sum(read * weight[..., None], axis=(3, 5))


def _by_cell(values: Tensor) -> Tensor:
    """(batch, cells of all regions, pixels of a cell)."""
    _, regions, side, terms, *_ = values.shape
    return ops.reshape(ops.transpose(values, (0, 1, 2, 4, 3, 5)), (-1, regions * side * side, terms * terms))


def assign_level(regions: Tensor, lowest: int, highest: int) -> Tensor:
    side = ops.sqrt(ops.maximum(area(regions), 0.0))
    level = ops.floor(CANONICAL_LEVEL + ops.log(ops.maximum(side / CANONICAL_PX, 1e-12)) / math.log(2.0) + EPSILON)
    return ops.cast(ops.clip(level, lowest, highest), "int32")


def _in_one(features: Sequence[Tensor]) -> Tensor:
    """(batch, pixels of all levels, channels) in float32: what is read is weighed in it, and the gradients of the many readings
    of one pixel are added in it."""
    flat = [ops.reshape(feature, (-1, feature.shape[1] * feature.shape[2], feature.shape[3])) for feature in features]
    return ops.cast(ops.concatenate(flat, axis=1), "float32")


def _pixels(begin: Tensor, end: Tensor, size: Tensor, side: int, samples: int) -> tuple[Tensor, Tensor]:
    """Along one axis: the pixels (batch, n, side, 2 · samples) that each cell is made of, and their weights; nothing where a
    reading lies a whole pixel outside."""
    length = ops.maximum(end - begin, 1.0)
    steps = (np.arange(side * samples, dtype=np.float32) + 0.5) / (side * samples)
    places = begin[..., None] + length[..., None] * ops.convert_to_tensor(steps)
    size = size[..., None]
    inside = ops.cast((places >= -1.0) & (places <= ops.cast(size, "float32")), "float32")
    places = ops.minimum(ops.maximum(places, 0.0), ops.cast(size - 1, "float32"))
    low = ops.floor(places)
    share = places - low
    first = ops.cast(low, "int32")
    pixels = ops.stack([first, ops.minimum(first + 1, size - 1)], axis=-1)
    weights = ops.stack([(1 - share) * inside, share * inside], axis=-1) / samples
    shape = (-1, begin.shape[1], side, 2 * samples)
    return ops.reshape(pixels, shape), ops.reshape(weights, shape)
