"""A plot as plain data: what it shows, its lines or areas, its limits, and the same as a table for those who do not look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIRST_WIDTH_S = 0.1
DIGITS = 6


def round_number(value: float | None) -> float | None:
    """As many digits as a plot can show: a page of all digits is twice as large."""
    return None if value is None else float(f"{value:.{DIGITS}g}")


class Spans:
    """Seconds of each kind in bins of equal width."""

    def __init__(self, kinds: tuple[str, ...], max_bins: int) -> None:
        self.width_s = FIRST_WIDTH_S
        self.sums: dict[str, list[float]] = {kind: [] for kind in kinds}
        self._max_bins = max_bins

    def add(self, kind: str, began: float, ended: float, seconds: float) -> None:
        """`seconds` of this kind, evenly between two moments, which count from the begin of the run."""
        began, ended = max(0.0, began), max(0.0, ended)
        if seconds <= 0:
            return
        while ended / self.width_s >= self._max_bins:
            self._halve()
        sums, width = self.sums[kind], self.width_s
        first, last = int(began / width), int(ended / width)
        sums.extend([0.0] * (last + 1 - len(sums)))
        if first == last:
            sums[last] += seconds
            return
        rate = seconds / (ended - began)
        sums[first] += rate * ((first + 1) * width - began)
        sums[last] += rate * (ended - last * width)
        for place in range(first + 1, last):
            sums[place] += rate * width

    def copy(self) -> Spans:
        copied = Spans((), self._max_bins)
        copied.width_s, copied.sums = self.width_s, {kind: list(sums) for kind, sums in self.sums.items()}
        return copied

    def fill_up(self, rest: str, until: float) -> None:
        """What is left of each bin's time is of the kind `rest`. Where more was told than has passed, since several processes
        tell, all shrinks to what has."""
        while until / self.width_s > self._max_bins:
            self._halve()
        count = max(-(-until // self.width_s), 1)
        for kind, sums in self.sums.items():
            self.sums[kind] = [*sums[: int(count)], *[0.0] * (int(count) - len(sums))]
        for place in range(int(count)):
            width = min(self.width_s, until - place * self.width_s)
            result = sum(sums[place] for sums in self.sums.values())
            if result > width:
                for sums in self.sums.values():
                    sums[place] *= max(0.0, width) / result
            else:
                self.sums[rest][place] += width - result

    def _halve(self) -> None:
        self.width_s *= 2
        for kind, sums in self.sums.items():
            even = [*sums, 0.0] if len(sums) % 2 else sums
            self.sums[kind] = [even[place] + even[place + 1] for place in range(0, len(even), 2)]


class Series:
    """Values over time. A bin holds: count, sum of moments, sum of values, least, greatest."""

    def __init__(self, max_bins: int) -> None:
        self._width_s = FIRST_WIDTH_S
        self._max_bins = max_bins
        self._bins: dict[int, list[float]] = {}

    def __bool__(self) -> bool:
        return bool(self._bins)

    def __len__(self) -> int:
        return len(self._bins)

    def add(self, moment: float, value: float | None, greatest: float | None = None) -> None:
        """`greatest` of what the value is the mean of, where it is known. What is not finite is left out."""
        if value is None or value - value != 0:
            return
        moment = max(0.0, moment)
        while moment / self._width_s >= self._max_bins:
            self._halve()
        highest = max(value, greatest) if greatest is not None and greatest - greatest == 0 else value
        known = self._bins.get(int(moment / self._width_s))
        if known is None:
            self._bins[int(moment / self._width_s)] = [1, moment, value, value, highest]
        else:
            _put_together(known, [1, moment, value, value, highest])

    def _halve(self) -> None:
        self._width_s *= 2
        merged: dict[int, list[float]] = {}
        for place, contents in self._bins.items():
            if place // 2 in merged:
                _put_together(merged[place // 2], contents)
            else:
                merged[place // 2] = contents
        self._bins = merged

    def plain(self) -> dict[str, list[float | None]]:
        """t (seconds from the begin of the run) and mean; low and high where they differ from it."""
        ordered = [self._bins[place] for place in sorted(self._bins)]
        plain = {
            "t": [round_number(each[1] / each[0]) for each in ordered],
            "mean": [round_number(each[2] / each[0]) for each in ordered],
        }
        low, high = [round_number(each[3]) for each in ordered], [round_number(each[4]) for each in ordered]
        return plain if low == high == plain["mean"] else {**plain, "low": low, "high": high}


def _put_together(known: list[float], other: list[float]) -> None:
    for place in range(3):
        known[place] += other[place]
    known[3], known[4] = min(known[3], other[3]), max(known[4], other[4])


class NamedSeries:
    """Several series of one plot by name. Beyond `max_names` further names are left out: a plot of fifty lines shows nothing."""

    def __init__(self, max_bins: int, max_names: int) -> None:
        self._max_bins, self._max_names = max_bins, max_names
        self.series: dict[str, Series] = {}

    def add(self, name: str, moment: float, value: Any, greatest: float | None = None) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        known = self.series.get(name)
        if known is None:
            if len(self.series) >= self._max_names:
                return
            known = self.series[name] = Series(self._max_bins)
        known.add(moment, value, greatest)


# A plot as plain data: what it shows, its lines or areas, its limits, and the same as a table for those who do not look.


Plot = dict[str, Any]
TABLE_ROWS = 12
LOG_FROM = 1000.0  # the greatest value, as a multiple of the least


def create_line_plot(
    name: str,
    title: str,
    unit: str,
    series: Mapping[str, Series],
    seconds: float,
    *,
    limits: Mapping[str, float] | None = None,
    from_zero: bool = False,
    note: str = "",
) -> Plot | None:
    """unit: s, B (bytes), %, or nothing. A line has the mean at each moment, and the least and greatest where they differ."""
    lines = [{"name": key, **each.plain()} for key, each in series.items() if each]
    if not lines:
        return None
    return {
        "name": name,
        "kind": "lines",
        "title": title,
        "unit": unit,
        "note": note,
        "from_zero": from_zero,
        "is_log": not from_zero and _spans_decades(lines),
        "lines": lines,
        "limits": [{"name": key, "value": value} for key, value in (limits or {}).items()],
        "table": {"columns": [line["name"] for line in lines], "rows": _rows(lines, seconds)},
    }


def _spans_decades(lines: list[dict[str, Any]]) -> bool:
    """Whether a scale of equal steps would press most of it flat against the axis."""
    low = min(min(line.get("low", line["mean"])) for line in lines)
    high = max(max(line.get("high", line["mean"])) for line in lines)
    return bool(low > 0 and high / low >= LOG_FROM)


def create_area_plot(name: str, title: str, bin_s: float, seconds: float, sums: Mapping[str, list[float]], note: str) -> Plot:
    """Seconds of each kind in each bin, as shares of the bin's own time in percent: together never more than 100."""
    count = max(len(values) for values in sums.values())
    widths = [max(0.0, min(bin_s, seconds - place * bin_s)) for place in range(count)]
    padded = {kind: [*values, *[0.0] * (count - len(values))] for kind, values in sums.items()}
    areas = {}
    for kind, values in padded.items():
        shares = [100 * value / width if width > 0 else 0.0 for value, width in zip(values, widths, strict=True)]
        areas[kind] = [round(share, 1) for share in shares]
    return {
        "name": name,
        "kind": "areas",
        "title": title,
        "unit": "%",
        "note": note,
        "bin_s": bin_s,
        "areas": [{"name": kind, "shares": shares} for kind, shares in areas.items() if any(shares)],
        "table": {
            "columns": [kind for kind, shares in areas.items() if any(shares)],
            "rows": _area_rows({kind: values for kind, values in padded.items() if any(areas[kind])}, bin_s, seconds),
        },
    }


def _rows(lines: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """The run in a few stretches of equal length: mean, least and greatest of each line in each of them."""
    stretch = max(seconds, 1e-9) / TABLE_ROWS
    places = [_by_stretch(line, stretch) for line in lines]
    rows = []
    for number in range(TABLE_ROWS):
        cells = [_cell(line, place.get(number, [])) for line, place in zip(lines, places, strict=True)]
        if any(cell is not None for cell in cells):
            rows.append({"from": round_number(number * stretch), "to": round_number((number + 1) * stretch), "cells": cells})
    return rows


def _by_stretch(line: dict[str, Any], stretch: float) -> dict[int, list[int]]:
    places: dict[int, list[int]] = {}
    for place, moment in enumerate(line["t"]):
        places.setdefault(min(TABLE_ROWS - 1, int(moment / stretch)), []).append(place)
    return places


def _cell(line: dict[str, Any], places: list[int]) -> dict[str, float | None] | None:
    if not places:
        return None
    mean, low, high = ([line.get(key, line["mean"])[place] for place in places] for key in ("mean", "low", "high"))
    return {"mean": round_number(sum(mean) / len(mean)), "low": min(low), "high": max(high)}


def _area_rows(sums: Mapping[str, list[float]], bin_s: float, seconds: float) -> list[dict[str, Any]]:
    """The same for areas: the share of each in a stretch."""
    count = max((len(values) for values in sums.values()), default=0)
    bins = max(1, -(-count // TABLE_ROWS))
    rows = []
    for first in range(0, count, bins):
        began, ended = first * bin_s, min(seconds, (first + bins) * bin_s)
        took = max(ended - began, 1e-9)
        shares = [round(100 * sum(values[first : first + bins]) / took, 1) for values in sums.values()]
        cells = [{"mean": share, "low": share, "high": share} for share in shares]
        rows.append({"from": round_number(began), "to": round_number(ended), "cells": cells})
    return rows
