"""ROI align: of each region a grid of features, read between the pixels of the pyramid's level that suits the region's size.

As torchvision's `MultiScaleRoIAlign` with `aligned=False`: regions are not moved by half a pixel, and none is narrower than one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from keras import ops

from unstall.detectors.parts.boxes import Tensor, area

CANONICAL_PX = 224.0  # a region of this size …
CANONICAL_LEVEL = 4  # … belongs to this level of the pyramid
EPSILON = 1e-6


def level_of(regions: Tensor, lowest: int, highest: int) -> Tensor:
    side = ops.sqrt(ops.maximum(area(regions), 0.0))
    level = ops.floor(CANONICAL_LEVEL + ops.log(ops.maximum(side / CANONICAL_PX, 1e-12)) / float(np.log(2.0)) + EPSILON)
    return ops.cast(ops.clip(level, lowest, highest), "int32")


def roi_align(features: Sequence[Tensor], strides: Sequence[int], regions: Tensor, side: int, samples: int) -> Tensor:
    """Features (batch, height, width, channels) of each level and regions (batch, n, 4) in pixels of the input, to
    (batch, n, side, side, channels): each cell is the mean of samples × samples readings."""
    channels = features[0].shape[-1]
    lowest = int(np.log2(strides[0]))
    level = level_of(regions, lowest, lowest + len(features) - 1) - lowest
    heights, widths = (np.array([feature.shape[axis] for feature in features], np.int32) for axis in (1, 2))
    begins = np.concatenate([[0], np.cumsum(heights * widths)[:-1]]).astype(np.int32)
    flat = ops.concatenate(
        [ops.reshape(feature, (-1, feature.shape[1] * feature.shape[2], channels)) for feature in features], axis=1
    )

    def of_level(values: np.ndarray) -> Tensor:
        return ops.take(ops.convert_to_tensor(values), level, axis=0)

    scale = of_level(1.0 / np.array(strides, np.float32))
    y = _places(regions[..., 1] * scale, regions[..., 3] * scale, side, samples)
    x = _places(regions[..., 0] * scale, regions[..., 2] * scale, side, samples)
    (top, bottom), (above, below) = _neighbours(y, of_level(heights))
    (left, right), (before, behind) = _neighbours(x, of_level(widths))
    begin, width = of_level(begins)[..., None, None], of_level(widths)[..., None, None]
    total = None
    for row, row_weight in ((top, above), (bottom, below)):
        for column, column_weight in ((left, before), (right, behind)):
            place = begin + row[..., :, None] * width + column[..., None, :]
            weight = row_weight[..., :, None] * column_weight[..., None, :]
            read = _read(flat, place) * ops.cast(weight, flat.dtype)[..., None]
            total = read if total is None else total + read
    shape = (-1, regions.shape[1], side, samples, side, samples, channels)
    return ops.mean(ops.reshape(total, shape), axis=(3, 5))


def _places(begin: Tensor, end: Tensor, side: int, samples: int) -> Tensor:
    """Where a region is read along one axis: (batch, n, side · samples)."""
    length = ops.maximum(end - begin, 1.0)
    steps = (np.arange(side * samples, dtype=np.float32) + 0.5) / (side * samples)
    return begin[..., None] + length[..., None] * steps


def _neighbours(places: Tensor, size: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """The two pixels that a place lies between, and what each weighs; nothing where it lies a whole pixel outside."""
    size = size[..., None]
    last = ops.cast(size - 1, "float32")
    inside = ops.cast((places >= -1.0) & (places <= ops.cast(size, "float32")), "float32")
    places = ops.minimum(ops.maximum(places, 0.0), last)
    low = ops.floor(places)
    share = places - low
    first = ops.cast(low, "int32")
    second = ops.minimum(first + 1, size - 1)
    return (first, second), ((1 - share) * inside, share * inside)


def _read(flat: Tensor, place: Tensor) -> Tensor:
    """(batch, pixels, channels) at (batch, n, rows, columns)."""
    shape = place.shape
    index = ops.reshape(place, (-1, shape[1] * shape[2] * shape[3]))
    read = ops.take_along_axis(flat, index[..., None], axis=1)
    return ops.reshape(read, (-1, *shape[1:], flat.shape[-1]))
