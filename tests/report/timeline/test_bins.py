"""Any number of values in a bounded number of points, with nothing lost of the sums and no spike lost of the values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unstall.report.timeline.plots import NamedSeries, Series, Spans

moments = st.floats(0, 1e6, allow_nan=False)


@given(st.lists(st.tuples(moments, st.floats(0.001, 1000)), min_size=1, max_size=60))
def test_sums_of_time_stay_exact_however_often_bins_are_put_together(spans: list[tuple[float, float]]) -> None:
    found = Spans(("compute",), max_bins=16)
    for began, seconds in spans:
        found.add("compute", began, began + seconds, seconds)
    assert len(found.sums["compute"]) <= 16
    assert sum(found.sums["compute"]) == pytest.approx(sum(seconds for _, seconds in spans))


def test_time_is_laid_where_it_passed() -> None:
    spans = Spans(("compute", "input"), max_bins=100)
    spans.add("compute", 0.05, 0.25, 0.1)  # half of this stretch
    assert spans.sums["compute"] == pytest.approx([0.025, 0.05, 0.025])


def test_what_is_left_of_a_bin_is_other_and_no_bin_holds_more_than_its_time() -> None:
    spans = Spans(("compute", "other"), max_bins=100)
    spans.add("compute", 0.0, 0.1, 0.04)
    spans.add("compute", 0.1, 0.2, 0.3)  # three processes tell of the same tenth of a second
    spans.fill_up("other", 0.25)
    assert spans.sums["compute"] == pytest.approx([0.04, 0.1, 0.0])
    assert spans.sums["other"] == pytest.approx([0.06, 0.0, 0.05])


def test_a_copy_is_its_own() -> None:
    spans = Spans(("compute",), max_bins=100)
    spans.copy().add("compute", 0, 1, 1)
    assert spans.sums["compute"] == []


@given(st.lists(st.tuples(moments, st.floats(-1e6, 1e6)), min_size=1, max_size=200))
def test_a_series_is_bounded_ordered_and_keeps_its_least_and_greatest(points: list[tuple[float, float]]) -> None:
    series = Series(max_bins=10)
    for moment, value in points:
        series.add(moment, value)
    result = series.plain()
    assert len(result["t"]) <= 10
    assert result["t"] == sorted(result["t"])
    low, high = result.get("low", result["mean"]), result.get("high", result["mean"])
    assert min(low) == pytest.approx(min(value for _, value in points), rel=1e-5)
    assert max(high) == pytest.approx(max(value for _, value in points), rel=1e-5)


def test_a_spike_among_many_values_survives() -> None:
    series = Series(max_bins=50)
    for second in range(100_000):
        series.add(second, 90.0 if second == 54_321 else 1.0)
    result = series.plain()
    assert len(result["t"]) <= 50
    assert max(result["high"]) == 90.0
    place = result["high"].index(90.0)
    assert abs(result["t"][place] - 54_321) < 2 * 100_000 / 25


def test_few_values_are_told_as_they_are() -> None:
    series = Series(max_bins=100)
    for moment, value in ((1.0, 4.0), (2.5, 3.0)):
        series.add(moment, value)
    assert series.plain() == {"t": [1.0, 2.5], "mean": [4.0, 3.0]}


def test_what_is_not_finite_is_left_out() -> None:
    series = Series(max_bins=100)
    for value in (math.nan, math.inf, None):
        series.add(1.0, value)
    assert not series


def test_names_beyond_the_most_are_left_out_and_so_is_what_is_no_number() -> None:
    named = NamedSeries(max_bins=10, max_names=2)
    for name, value in (("a", 1), ("b", 2.0), ("c", 3), ("a", "hot"), ("a", True)):
        named.add(name, 1.0, value)
    assert {name: series.plain()["mean"] for name, series in named.series.items()} == {"a": [1.0], "b": [2.0]}
