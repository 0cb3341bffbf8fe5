"""The same box twice, and neighbours that nearly are."""

from __future__ import annotations

from tests.data.check.datasets import boxes_found, checked, example, found

BOX = (100, 100, 200, 200)


def test_the_later_one_is_found() -> None:
    assert boxes_found("box_duplicate", checked(example(BOX, (300, 300, 350, 380), BOX))) == [("a.jpg", 2)]


def test_one_shifted_by_two_pixels_is_the_same_object() -> None:
    assert boxes_found("box_duplicate", checked(example(BOX, (102, 102, 202, 202)))) == [("a.jpg", 1)]


def test_other_classes_other_images_and_crowds_are_none() -> None:
    assert not found("box_duplicate", checked(example(BOX, BOX, classes=[0, 1]), classes=("cat", "dog")))
    assert not found("box_duplicate", checked(example(BOX), example(BOX, name="b.jpg")))
    assert not found("box_duplicate", checked(example(BOX, BOX, crowd=[False, True])))


def test_objects_side_by_side_or_within_each_other_are_none() -> None:
    assert not found("box_duplicate", checked(example(BOX, (110, 100, 210, 200), (105, 105, 180, 190))))


def test_many_boxes_between_do_not_hide_it() -> None:
    between = [(100 + step, 250 + 20 * step, 140 + step, 262 + 20 * step) for step in range(9)]
    assert boxes_found("box_duplicate", checked(example(BOX, *between, BOX, size=(2000, 2000)))) == [("a.jpg", 10)]
