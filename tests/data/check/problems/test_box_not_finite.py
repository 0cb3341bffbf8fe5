"""Coordinates that are no numbers."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found

NAN, INFINITE = float("nan"), float("inf")


def test_nan_and_infinite_are_found() -> None:
    what = checked(example((NAN, 0, 1, 1), (0, 0, 5, 5), (0, 0, INFINITE, 5), (-INFINITE, 0, 1, 5)))
    assert boxes_found("box_not_finite", what) == [("a.jpg", 0), ("a.jpg", 2), ("a.jpg", 3)]


def test_large_and_small_numbers_are_numbers() -> None:
    assert not found("box_not_finite", checked(example((1e-300, -1e300, 1e300, 0))))


def test_no_boxes_at_all_are_none() -> None:
    assert not found("box_not_finite", checked(example()))
    assert not found("box_not_finite", checked())
