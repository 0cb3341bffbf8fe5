"""Numbers with their nouns."""

from __future__ import annotations

from unstall.base.formatting import data_set_holds, format_count, rate


def test_one_is_said_in_the_singular() -> None:
    assert data_set_holds(1, 1, 1) == "1 image, 1 box, 1 class"
    assert data_set_holds(1200, 0, 2) == "1,200 images, 0 boxes, 2 classes"
    assert format_count(1, "step") == "1 step"


def test_a_small_rate_is_not_nothing() -> None:
    assert [rate(value) for value in (0.42, 3.0, 37.4, 1234.5)] == ["0.42", "3", "37", "1,234"]
