"""Pixels where shares are expected: the reader has multiplied them by the size once more."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.problems.box_in_pixels import propose_fixes

TWICE = (100 * 640, 50 * 480, 300 * 640, 200 * 480)


def test_pixels_are_found_and_divided() -> None:
    what = checked(example(TWICE, (64, 48, 128, 96)), format="yolo")
    assert boxes_found("box_in_pixels", what) == [("a.jpg", 0)]
    assert propose_fixes(what, found("box_in_pixels", what))[0].box == (0, (100, 50, 300, 200))


def test_an_object_that_reaches_far_out_is_none() -> None:
    assert not found("box_in_pixels", checked(example((-200, -100, 1200, 900)), format="yolo"))


def test_in_a_format_of_pixels_it_is_not_asked() -> None:
    assert not found("box_in_pixels", checked(example(TWICE), format="coco"))


def test_what_fits_neither_way_is_none() -> None:
    assert not found("box_in_pixels", checked(example((9000 * 640, 0, 9100 * 640, 480)), format="yolo"))
