"""Shares where pixels are expected."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.problems.box_normalised import propose_fixes

SHARES = ((0.1, 0.2, 0.5, 0.6), (0.5, 0.5, 1, 1))


def test_boxes_between_0_and_1_are_found_and_multiplied() -> None:
    what = checked(example(*SHARES))
    assert boxes_found("box_normalised", what) == [("a.jpg", 0), ("a.jpg", 1)]
    assert propose_fixes(what, found("box_normalised", what))[1].box == (1, (320, 240, 640, 480))


def test_where_shares_are_expected_they_are_right() -> None:
    assert not found("box_normalised", checked(example(*SHARES), format="yolo"))


def test_one_box_in_pixels_shows_that_all_are() -> None:
    assert not found("box_normalised", checked(example(*SHARES, (10, 10, 50, 50))))


def test_a_box_of_one_pixel_in_the_corner_is_none() -> None:
    assert not found("box_normalised", checked(example((0, 0, 1, 1))))


def test_in_an_image_of_a_few_pixels_it_cannot_be_told() -> None:
    assert not found("box_normalised", checked(example((0, 0, 0.5, 1), size=(4, 4))))
