"""A data set in which nothing is marked."""

from __future__ import annotations

from tests.data.check.datasets import checked, example, found

BOX = (1, 1, 9, 9)


def test_images_without_any_box_are_nothing_to_learn_from() -> None:
    (finding,) = found("boxes_missing", checked(example(), example(name="b.jpg"), classes=("cat",)))
    assert "2 images" in finding.message


def test_one_box_is_enough_to_be_silent() -> None:
    assert not found("boxes_missing", checked(example(), example(BOX, name="b.jpg"), classes=("cat",)))


def test_no_images_are_another_matter() -> None:
    assert not found("boxes_missing", checked(classes=("cat",)))
