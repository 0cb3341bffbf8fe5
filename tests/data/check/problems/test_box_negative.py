"""Boxes that begin before their image."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.problems.box_negative import propose_fixes


def test_a_negative_edge_is_found_and_cut() -> None:
    what = checked(example((-20, 10, 60, 90), (10, -3, 60, 90), (10, 10, 60, 90)))
    assert boxes_found("box_negative", what) == [("a.jpg", 0), ("a.jpg", 1)]
    assert propose_fixes(what, found("box_negative", what))[0].box == (0, (0, 10, 60, 90))


def test_it_is_found_where_the_size_is_not_known() -> None:
    assert boxes_found("box_negative", checked(example((-20, 10, 60, 90), size=None))) == [("a.jpg", 0)]


def test_rounding_crowds_and_boxes_wholly_outside_are_none() -> None:
    assert not found("box_negative", checked(example((-0.9, -1, 60, 90), (-90, 10, -20, 60))))
    assert not found("box_negative", checked(example((-20, 10, 60, 90), crowd=[True])))
