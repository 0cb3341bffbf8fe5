"""Anchors: the published numbers, the published order."""

from __future__ import annotations

import numpy as np
import pytest

from unstall.data.anchors import create_default_boxes, create_pyramid_anchors

OCTAVE = (32, 40, 50)
RATIOS = (0.5, 1.0, 2.0)
SSD300 = {
    "image": (300, 300),
    "grids": [(side, side) for side in (38, 19, 10, 5, 3, 1)],
    "scales": (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05),
    "ratios": ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,)),
    "steps_px": (8, 16, 32, 64, 100, 300),
}
SSDLITE320 = {
    "image": (320, 320),
    "grids": [(side, side) for side in (20, 10, 5, 3, 2, 1)],
    "scales": (0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0),
    "ratios": ((2, 3),) * 6,
    "steps_px": (None,) * 6,
}


def sides(boxes: np.ndarray) -> np.ndarray:
    return boxes[:, 2:] - boxes[:, :2]


def test_the_finest_of_retinanet_are_those_published() -> None:
    (anchors,) = create_pyramid_anchors((8, 8), [(1, 1)], [OCTAVE], RATIOS)
    assert anchors.tolist() == [
        [-23, -11, 23, 11], [-28, -14, 28, 14], [-35, -18, 35, 18],
        [-16, -16, 16, 16], [-20, -20, 20, 20], [-25, -25, 25, 25],
        [-11, -23, 11, 23], [-14, -28, 14, 28], [-18, -35, 18, 35],
    ]  # fmt: skip


def test_they_stand_on_the_corner_of_each_cell_row_by_row() -> None:
    (anchors,) = create_pyramid_anchors((24, 32), [(3, 4)], [(10,)], (1.0,))
    centres = (anchors[:, :2] + anchors[:, 2:]) / 2
    assert centres[:5].tolist() == [[0, 0], [8, 0], [16, 0], [24, 0], [0, 8]]
    assert len(anchors) == 12 and anchors.dtype == np.float32


def test_a_step_is_a_whole_number_of_pixels_where_the_grid_does_not_divide_the_image() -> None:
    (anchors,) = create_pyramid_anchors((100, 75), [(13, 10)], [(10,)], (1.0,))
    assert anchors[-1].tolist() == [9 * 7 - 5, 12 * 7 - 5, 9 * 7 + 5, 12 * 7 + 5]


def test_levels_come_one_by_one_with_their_own_sizes() -> None:
    first, second = create_pyramid_anchors((16, 16), [(2, 2), (1, 1)], [(8,), (16,)], (1.0,))
    assert (len(first), len(second)) == (4, 1)
    assert sides(first)[0].tolist() == [8, 8] and sides(second)[0].tolist() == [16, 16]


@pytest.mark.parametrize(("model", "count"), [(SSD300, 8732), (SSDLITE320, 3234)])
def test_ssd_has_as_many_as_published(model: dict, count: int) -> None:
    assert create_default_boxes(**model).shape == (count, 4)


def test_a_cell_of_ssd_has_squares_first_then_each_ratio_lying_and_standing() -> None:
    first = create_default_boxes(**SSD300)[:4]
    assert np.allclose((first[:, :2] + first[:, 2:]) / 2, 4.0)  # half a step of 8
    between = 300 * np.sqrt(0.07 * 0.15)
    lying = (21 * np.sqrt(2), 21 / np.sqrt(2))
    assert np.allclose(sides(first), [(21, 21), (between, between), lying, lying[::-1]], rtol=1e-6)


def test_sides_of_ssd_are_cut_to_the_image_and_boxes_are_not() -> None:
    boxes = create_default_boxes(**SSD300)
    assert sides(boxes).max() <= 300 + 1e-4
    assert boxes.min() < 0 and boxes.max() > 300


def test_without_steps_the_places_are_spread_evenly() -> None:
    boxes = create_default_boxes(**SSDLITE320)[20 * 20 * 6 :]
    centres = (boxes[::6, :2] + boxes[::6, 2:]) / 2
    assert np.allclose(centres[:2], [(16, 16), (48, 16)])
