"""Numbers with their nouns."""

from __future__ import annotations

from unstall.base.formatting import describe_data_set, format_count, format_rate


def test_one_is_said_in_the_singular() -> None:
    assert describe_data_set(1, 1, 1) == "1 image, 1 box, 1 class"
    assert describe_data_set(1200, 0, 2) == "1,200 images, 0 boxes, 2 classes"
    assert format_count(1, "step") == "1 step"


def test_a_small_rate_is_not_nothing() -> None:
    assert [format_rate(value) for value in (0.42, 3.0, 37.4, 1234.5)] == ["0.42", "3", "37", "1,234"]
