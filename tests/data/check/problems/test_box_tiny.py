"""Boxes of a pixel or so: a note, and not for crowds."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found
from unstall.data.check.context import Severity
from unstall.data.check.runner import get_severity


def test_a_box_under_two_pixels_is_a_note() -> None:
    what = checked(example((10, 10, 11.5, 40), (10, 10, 40, 40)))
    assert boxes_found("box_tiny", what) == [("a.jpg", 0)]
    assert get_severity("box_tiny") is Severity.INFO


def test_small_real_objects_and_crowds_are_none() -> None:
    assert not found("box_tiny", checked(example((10, 10, 12, 12), (0, 0, 3, 300))))
    assert not found("box_tiny", checked(example((10, 10, 11, 11), crowd=[True])))


def test_shares_are_not_called_tiny() -> None:
    assert not found("box_tiny", checked(example((0.1, 0.1, 0.5, 0.5))))
    assert not found("box_tiny", checked(example((0.1, 0.1, 0.5, 0.5), size=None, is_normalised=True), format="yolo"))
