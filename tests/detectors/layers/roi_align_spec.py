"""What ROI align is to give, written down pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from tests.detectors.gradients import compiled, slopes_of
from unstall.detectors.layers.roi_align import assign_level, roi_align

STRIDES = (4, 8, 16, 32)
PX = 192
CHANNELS = 3


def between(map_: np.ndarray, y: float, x: float) -> np.ndarray:
    """One reading: between four pixels, at the border the border's own, nothing a whole pixel outside."""
    height, width, channels = map_.shape
    if y < -1 or y > height or x < -1 or x > width:
        return np.zeros(channels)
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, across = y - top, x - left
    upper = (1 - across) * map_[top, left] + across * map_[top, right]
    lower = (1 - across) * map_[bottom, left] + across * map_[bottom, right]
    return (1 - down) * upper + down * lower


def read_one(map_: np.ndarray, region: np.ndarray, side: int, samples: int) -> np.ndarray:
    left, top, right, bottom = region
    width, height = max(right - left, 1.0) / side, max(bottom - top, 1.0) / side
    result = np.zeros((side, side, map_.shape[-1]))
    for row in range(side):
        for column in range(side):
            readings = [
                between(map_, top + (row + (i + 0.5) / samples) * height, left + (column + (j + 0.5) / samples) * width)
                for i in range(samples)
                for j in range(samples)
            ]
            result[row, column] = np.mean(readings, axis=0)
    return result


def own_level(region: np.ndarray) -> int:
    side = np.sqrt((region[2] - region[0]) * (region[3] - region[1]))
    return int(np.clip(np.floor(4 + np.log2(max(side, 1e-9) / 224) + 1e-6), 2, 5))


def maps(random: np.random.Generator, batch: int) -> list[np.ndarray]:
    return [random.normal(size=(batch, PX // s, PX // s, CHANNELS)).astype("float32") for s in STRIDES]


def regions_of_every_kind() -> np.ndarray:
    """Of all levels; at the borders, over them and far outside; thinner than a pixel of the map; and of no size."""
    return np.array(
        [
            [10, 12, 60, 40], [3.5, 7.25, 120, 90], [0, 0, PX, PX], [-300, -200, 300, 400], [-900, -900, 900, 900],
            [150, 150, 260, 250], [-40, 20, 30, 45], [50, 50, 51, 52], [64, 64, 64, 64], [400, 400, 500, 480],
            [0, 100, 190, 101], [-5, -5, -1, -1], [188, 188, 192, 192], [20, 10, 244, 234],
        ],
        "float32",
    )  # fmt: skip


def read(
    features: list[Any], regions: np.ndarray, strides: tuple[int, ...] = STRIDES, side: int = 7, samples: int = 2
) -> np.ndarray:
    return ops.convert_to_numpy(compiled(lambda f, r: roi_align(f, strides, r, side, samples))(features, regions))


def test_every_cell_is_read_as_defined() -> None:
    random = np.random.default_rng(3)
    features = maps(random, batch=2)
    regions = np.stack([regions_of_every_kind(), regions_of_every_kind()[::-1]])
    levels = {own_level(region) for region in regions[0]}
    assert levels == {2, 3, 4, 5}, levels
    result = read(features, regions)
    for image in range(2):
        for number, region in enumerate(regions[image]):
            level = own_level(region)
            expected = read_one(features[level - 2][image], region / 2**level, 7, 2)
            np.testing.assert_allclose(result[image, number], expected, atol=2e-5, err_msg=f"region {region}, level {level}")


def test_other_grids_and_counts_of_readings() -> None:
    features = maps(np.random.default_rng(4), batch=1)
    region = np.array([[[30, 20, 70, 90]]], "float32")
    for side, samples in ((3, 1), (5, 3)):
        result = read(features, region, side=side, samples=samples)
        np.testing.assert_allclose(result[0, 0], read_one(features[0][0], region[0, 0] / 4, side, samples), atol=2e-5)


def test_the_level_goes_by_size() -> None:
    sides = np.array([1, 111.9, 112, 223.9, 224, 447.9, 448, 900], "float32")
    regions = np.stack([0 * sides, 0 * sides, sides, sides], axis=-1)[None]
    found = ops.convert_to_numpy(assign_level(ops.convert_to_tensor(regions), 2, 5))[0].tolist()
    assert found == [2, 2, 3, 3, 4, 4, 5, 5], found


def test_of_levels_with_one_stride_the_first_is_read() -> None:
    random = np.random.default_rng(5)
    features = [random.normal(size=(1, 6, 6, 2)).astype("float32") for _ in range(2)]
    region = np.array([[[10, 20, 180, 150]]], "float32")
    result = read(features, region, strides=(32, 32))
    np.testing.assert_allclose(result[0, 0], read_one(features[0][0], region[0, 0] / 32, 7, 2), atol=2e-5)


def test_the_gradient_is_what_each_pixel_weighs() -> None:
    """The sum of all cells is linear in the maps: its slope, times the maps, is the sum itself. Maps that are not read have none."""
    features = maps(np.random.default_rng(6), batch=1)
    for regions in (regions_of_every_kind()[None], regions_of_every_kind()[None, :1]):
        value, slopes = slopes_of(
            lambda f, own=regions: ops.sum(roi_align(f, STRIDES, ops.convert_to_tensor(own), 7, 2)), features
        )
        assert all(np.isfinite(slope).all() for slope in slopes)
        again = sum(float((slope * map_).sum()) for slope, map_ in zip(slopes, features, strict=True))
        np.testing.assert_allclose(again, value, rtol=1e-3)
    assert [bool(slope.any()) for slope in slopes] == [True, False, False, False]


def test_half_precision_is_read_in_float32() -> None:
    features = [ops.cast(each, "bfloat16") for each in maps(np.random.default_rng(7), batch=1)]
    regions = regions_of_every_kind()[None]
    again = read([ops.cast(each, "float32") for each in features], regions)
    np.testing.assert_allclose(read(features, regions), again, atol=1e-6)
