"""Two runs compared, as one page that needs nothing else: the answer, what differs, and the curves over each other.

The curves are drawn here and need no script.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from unstall.base.redact.text import redact
from unstall.compare.comparison import describe_change
from unstall.compare.differences.difference import describe_absent, format_value
from unstall.report.html import page
from unstall.report.html.page import write_page

WIDTH, HEIGHT = 1000.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 70.0, 30.0, 12.0, 28.0
TICKS = 6
MAX_POINTS = 400
LOG_FROM = 1000.0  # the greatest value, as a multiple of the least
Point = tuple[float, float]


def write(plain: dict[str, Any], target: Path) -> None:
    style, policy = page.load_page_assets()
    plain = redact(plain)
    metrics = [{**row, "words": describe_change(row)} for row in plain["metrics"]]
    differences = [
        {**row, **{f"{side}_words": format_value(row[side], describe_absent(row["name"])) for side in ("before", "after")}}
        for row in plain["differences"]
    ]
    plots = [
        plot("Loss", plain["curves"]["loss"], "step", ""),
        plot("Memory", plain["curves"]["memory"], "seconds", "B"),
    ]
    write_page(
        "compare.html", target, result=plain, metrics=metrics, differences=differences, plots=[each for each in plots if each],
        style=style, policy=policy,
    )  # fmt: skip


def plot(title: str, curves: dict[str, list[Point]], along: str, unit: str) -> dict[str, Any] | None:
    """Two lines over the same axes, in the places of the drawing; None where there is nothing to draw."""
    lines = {name: _thinned(_finite(points)) for name, points in curves.items()}
    every = [point for points in lines.values() for point in points]
    if len(every) < 2:
        return None
    first, last = min(x for x, _ in every), max(x for x, _ in every)
    low, high = min(y for _, y in every), max(y for _, y in every)
    is_log = unit == "" and low > 0 and high / low >= LOG_FROM
    low = 0.0 if unit == "B" else low

    def place(x: float, y: float) -> Point:
        share = _share(math.log(y), math.log(low), math.log(high)) if is_log else _share(y, low, high)
        return LEFT + _share(x, first, last) * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    drawn = {
        name: " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(*point) for point in points)) for name, points in lines.items()
    }
    values = _ticks_of_a_logarithm(low, high) if is_log else choose_ticks(low, high, unit)
    return {
        "title": title, "along": along, "unit": unit, "lines": drawn, "width": WIDTH, "height": HEIGHT, "left": LEFT,
        "right": WIDTH - RIGHT, "bottom": HEIGHT - BOTTOM,
        "rows": [{"y": place(first, value)[1], "value": value} for value in values],
        "columns": [{"x": place(x, low)[0], "value": x} for x in choose_ticks(first, last, along)],
    }  # fmt: skip


def _finite(points: list[Point]) -> list[Point]:
    return [(float(x), float(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)]


def _thinned(points: list[Point]) -> list[Point]:
    step = max(1, -(-len(points) // MAX_POINTS))
    return points[::step]


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5


def choose_ticks(low: float, high: float, unit: str) -> list[float]:
    """Some round values from low to high: 1, 2 or 5 of a power of ten, powers of two of bytes, whole numbers of steps."""
    spacing = (high - low) / TICKS
    if spacing <= 0:
        return [low]
    if unit == "B":
        tick_distance = 2.0 ** math.ceil(math.log2(spacing))
    else:
        power = 10.0 ** math.floor(math.log10(spacing))
        tick_distance = next(times * power for times in (1, 2, 5, 10) if times * power >= spacing * (1 - 1e-9))
    tick_distance = max(1.0, tick_distance) if unit == "step" else tick_distance
    first = math.ceil(low / tick_distance - 1e-9)
    return [number * tick_distance for number in range(first, math.floor(high / tick_distance + 1e-9) + 1)] or [low]


def _ticks_of_a_logarithm(low: float, high: float) -> list[float]:
    between = (math.log(high) - math.log(low)) / TICKS
    return [low * math.exp(between * tick) for tick in range(TICKS + 1)]
