"""A plot as plain data: what it shows, its lines or areas, its limits, and the same as a table for those who do not look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unstall.report.timeline.bins import Series, round_number

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
