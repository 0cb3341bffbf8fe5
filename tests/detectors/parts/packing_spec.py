"""Packing: what runs over the canvas gives what it gives over each map alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.detectors.parts.drawing import array
from unstall.detectors.parts.layers import Conv
from unstall.detectors.parts.packing import Packing

PYRAMIDS = [
    [(40, 40), (20, 20), (10, 10), (5, 5)],
    [(6, 8), (3, 4), (2, 2), (1, 1)],
    [(1, 1), (1, 1), (1, 1), (1, 1)],
    [(5, 7), (3, 4)],
]


def maps(shapes: list[tuple[int, int]]) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.normal(size=(2, *shape, 3)).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize("shapes", PYRAMIDS)
def test_what_is_packed_is_unpacked(shapes: list[tuple[int, int]]) -> None:
    packing = Packing(shapes)
    given = maps(shapes)
    canvas = packing.packed(given)
    assert tuple(canvas.shape) == (2, packing.height, packing.width, 3)
    for before, after in zip(given, packing.unpacked(canvas), strict=True):
        assert np.array_equal(before, array(after))
    assert not array(canvas)[np.broadcast_to(packing.is_map == 0, canvas.shape)].any()


@pytest.mark.parametrize("shapes", PYRAMIDS)
def test_convolutions_see_no_neighbour(shapes: list[tuple[int, int]]) -> None:
    first, second = (Conv(3, 3, bias_initializer="ones", name=f"conv{number}") for number in range(2))
    packing = Packing(shapes)
    given = maps(shapes)
    together = packing.unpacked(second(packing.cleared(first(packing.packed(given)))))
    for alone, found in zip(given, together, strict=True):
        assert np.allclose(array(second(first(alone))), array(found), atol=1e-4)
