"""What is left free around what is drawn."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unstall.data.augment.geometry import Area
from unstall.data.pipeline.canvas import list_outer_strips

spans = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)
areas = st.tuples(spans, spans).map(lambda sides: Area(sides[0][0], sides[1][0], sides[0][1], sides[1][1]))


@given(areas, areas)
def test_the_strips_cover_what_is_outside_once_and_nothing_else(inner: Area, outer: Area) -> None:
    counted, expected = np.zeros((12, 12), int), np.zeros((12, 12), int)
    expected[outer.top : outer.bottom, outer.left : outer.right] = 1
    expected[inner.top : inner.bottom, inner.left : inner.right] = 0
    for strip in list_outer_strips(inner, outer):
        counted[strip.top : strip.bottom, strip.left : strip.right] += 1
    assert np.array_equal(counted, expected)
