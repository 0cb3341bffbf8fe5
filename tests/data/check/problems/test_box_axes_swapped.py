"""x and y swapped: judged by what fits, and only where it explains the data set."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.problems.box_axes_swapped import propose_fixes

RIGHT = ((520, 10, 600, 90), (500, 300, 630, 470), (10, 20, 30, 60))
SWAPPED = tuple((box[1], box[0], box[3], box[2]) for box in RIGHT)


def test_swapped_boxes_are_found_and_swapped_back() -> None:
    what = checked(example(*SWAPPED), example(*SWAPPED, name="b.jpg"))
    assert len(boxes_found("box_axes_swapped", what)) == 6
    assert propose_fixes(what, found("box_axes_swapped", what))[0].box == (0, (520, 10, 600, 90))
    assert not found("box_outside", what) and not found("box_partly_outside", what)


def test_one_box_outside_is_just_outside() -> None:
    what = checked(example((10, 500, 60, 560), (10, 20, 30, 60)))
    assert not found("box_axes_swapped", what)
    assert boxes_found("box_outside", what) == [("a.jpg", 0)]


def test_boxes_that_lie_outside_in_all_ways_are_not_called_swapped() -> None:
    outside = [example((900, 900, 950, 950), name=f"{number}.jpg") for number in range(20)]
    assert not found("box_axes_swapped", checked(example(*SWAPPED), example(*SWAPPED, name="b.jpg"), *outside))


def test_right_boxes_are_none() -> None:
    assert not found("box_axes_swapped", checked(example(*RIGHT), example(*RIGHT, name="b.jpg", size=(640, 480))))
