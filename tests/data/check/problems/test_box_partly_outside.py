"""Boxes that reach out to the right or below, by more than rounding."""

from __future__ import annotations

import pytest

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.problems.box_partly_outside import propose_fixes


def test_a_box_that_reaches_out_is_found_and_cut() -> None:
    what = checked(example((600, 400, 660, 470), (600, 400, 630, 520)))
    assert boxes_found("box_partly_outside", what) == [("a.jpg", 0), ("a.jpg", 1)]
    corrected = [fix.box for fix in propose_fixes(what, found("box_partly_outside", what))]
    assert corrected == [(0, (600, 400, 640, 470)), (1, (600, 400, 630, 480))]


@pytest.mark.parametrize("box", [(600, 400, 640, 480), (600, 400, 641, 481), (600.4, 400, 640.99, 480.2), (0, 0, 640.6, 480)])
def test_the_edge_and_rounding_are_none(box: tuple[float, ...]) -> None:
    assert not found("box_partly_outside", checked(example(box)))


def test_a_large_image_may_round_by_more() -> None:
    assert not found("box_partly_outside", checked(example((0, 0, 8006, 5000), size=(8000, 6000))))


def test_crowds_are_left_alone() -> None:
    assert not found("box_partly_outside", checked(example((600, 400, 700, 470), crowd=[True])))
