"""Boxes that lie wholly outside their image."""

from __future__ import annotations

import pytest

from tests.data.check.datasets import boxes_found, checked, example, found

INSIDE = (10, 10, 50, 50)


@pytest.mark.parametrize(
    "box", [(700, 10, 750, 50), (10, 500, 50, 550), (-60, 10, -5, 50), (10, -60, 50, -1), (640, 0, 700, 480)]
)
def test_a_box_beyond_any_edge_is_found(box: tuple[float, ...]) -> None:
    assert boxes_found("box_outside", checked(example(INSIDE, box))) == [("a.jpg", 1)]


@pytest.mark.parametrize("box", [(0, 0, 640, 480), (639, 479, 641, 481), (-5, -5, 1, 1)])
def test_a_box_that_touches_its_image_is_none(box: tuple[float, ...]) -> None:
    assert not found("box_outside", checked(example(INSIDE, box)))


def test_where_the_size_is_unknown_nothing_is_said() -> None:
    assert not found("box_outside", checked(example((7000, 10, 7500, 50), size=None)))


def test_pixels_in_place_of_shares_have_a_name_of_their_own() -> None:
    wrong = example((6400 * 10, 4800 * 10, 6400 * 20, 4800 * 20))
    assert not found("box_outside", checked(wrong, format="yolo"))
