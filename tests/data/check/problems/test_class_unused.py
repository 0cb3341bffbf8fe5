"""Classes that no box has."""

from __future__ import annotations

from tests.data.check.datasets import checked, example, found

BOX = (1, 1, 9, 9)


def test_a_class_without_boxes_is_named() -> None:
    (finding,) = found("class_unused", checked(example(BOX, classes=[0]), classes=("cat", "dog")))
    assert "'dog'" in finding.message


def test_classes_with_boxes_are_none_in_whatever_split() -> None:
    two = (example(BOX, classes=[0], split="train"), example(BOX, classes=[1], split="val", name="b.jpg"))
    assert not found("class_unused", checked(*two, classes=("cat", "dog")))


def test_a_data_set_without_boxes_says_nothing_of_its_classes() -> None:
    assert not found("class_unused", checked(example(), classes=("cat", "dog")))


def test_an_unknown_class_is_no_use_of_any() -> None:
    assert len(found("class_unused", checked(example(BOX, classes=[-1]), classes=("cat", "dog")))) == 2
