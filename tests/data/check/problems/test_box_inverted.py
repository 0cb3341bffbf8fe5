"""Boxes whose corners are the wrong way round, and those that only look odd."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.problems.box_inverted import propose_fixes


def test_a_box_inverted_is_found_in_either_direction() -> None:
    what = checked(example((300, 100, 120, 200), (10, 90, 40, 20), (10, 20, 40, 90)))
    assert boxes_found("box_inverted", what) == [("a.jpg", 0), ("a.jpg", 1)]


def test_a_proper_box_and_one_of_no_area_are_none() -> None:
    assert not found("box_inverted", checked(example((0, 0, 640, 480), (5, 5, 5, 9), (5, 5, 5, 5))))


def test_nan_is_not_called_inside_out() -> None:
    assert not found("box_inverted", checked(example((float("nan"), 0, 1, 1))))


def test_it_is_mended_by_swapping() -> None:
    what = checked(example((300, 200, 120, 100)))
    (fix,) = propose_fixes(what, found("box_inverted", what))
    assert fix.box == (0, (120.0, 100.0, 300.0, 200.0))
