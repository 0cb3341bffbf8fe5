"""What the fingerprint of the data says: the largest images, boxes per image."""

from __future__ import annotations

import re
from typing import Any

_SIZE = re.compile(r"^(\d+)\s*[×x]\s*(\d+)$")


def sizes(data: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Width, height and how many images."""
    known = data.get("image_px")
    counts = known.get("sizes", known) if isinstance(known, dict) else {}
    found = []
    for name, count in counts.items() if isinstance(counts, dict) else ():
        match = _SIZE.match(str(name))
        if match and isinstance(count, int):
            found.append((int(match[1]), int(match[2]), count))
    return found


def largest_side(data: dict[str, Any]) -> int | None:
    sides = [max(width, height) for width, height, _ in (*sizes(data), *_largest(data))]
    return max(sides, default=None)


def largest_area(data: dict[str, Any]) -> float | None:
    return max((float(width * height) for width, height, _ in (*sizes(data), *_largest(data))), default=None)


def images_over(data: dict[str, Any], side: int) -> int | None:
    """How many have a side longer than that."""
    counts = [count for width, height, count in sizes(data) if max(width, height) > side]
    return sum(counts) or len([1 for width, height, _ in _largest(data) if max(width, height) > side]) or None


def _largest(data: dict[str, Any]) -> list[tuple[int, int, int]]:
    rows = data.get("largest")
    found = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and isinstance(row.get("width"), int) and isinstance(row.get("height"), int):
            found.append((row["width"], row["height"], 1))
    return found


def boxes_per_image(data: dict[str, Any]) -> tuple[float, float] | None:
    """The mean, or the median, and the most."""
    known = data.get("boxes_per_image")
    if not isinstance(known, dict):
        return None
    middle = next((known[name] for name in ("mean", "median", "50", "0.5", "p50") if name in known), None)
    most = next((known[name] for name in ("most", "max", "100", "1.0", "p100") if name in known), None)
    return (float(middle), float(most)) if isinstance(middle, int | float) and isinstance(most, int | float) else None
