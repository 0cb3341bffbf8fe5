"""The curves of two runs over each other: what stands at the axes can be read."""

from __future__ import annotations

import pytest

from unstall.report.html.compare_page import choose_ticks, plot


@pytest.mark.parametrize(
    ("low", "high", "unit", "expected"),
    [
        (1, 11, "step", [2, 4, 6, 8, 10]),
        (0, 3, "step", [0, 1, 2, 3]),
        (0.5, 16.1, "seconds", [5, 10, 15]),
        (0.466, 1.363, "", [0.6, 0.8, 1.0, 1.2]),
        (0, 1100 * 2**20, "B", [0, 256 * 2**20, 512 * 2**20, 768 * 2**20, 1024 * 2**20]),
        (7, 7, "seconds", [7]),
    ],
)
def test_axes_have_round_values(low: float, high: float, unit: str, expected: list[float]) -> None:
    assert choose_ticks(low, high, unit) == pytest.approx(expected)


def test_every_value_at_an_axis_lies_within_the_drawing() -> None:
    drawn = plot("Memory", {"before": [(0.5, 6e7), (6.9, 7.2e8)], "after": [(0.5, 1.5e8), (16.1, 1.1e9)]}, "seconds", "B")
    assert drawn is not None
    assert all(drawn["left"] <= column["x"] <= drawn["right"] for column in drawn["columns"])
    assert all(0 <= row["y"] <= drawn["bottom"] for row in drawn["rows"])
