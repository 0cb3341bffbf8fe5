"""Distributions of what a data set holds, as plain data: sizes of images, boxes in each, the largest. Standard library only."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

SIZES_LISTED = 32
LARGEST_LISTED = 12
EDGES_PX = (256, 512, 1024, 2048, 4096, 8192)  # of the longer side
SHARES = {"min": 0.0, "p10": 0.1, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "max": 1.0}


def quantiles(values: Iterable[float]) -> dict[str, float]:
    """min, p10, p25, p50, p75, p90, p99, max and mean; empty of nothing. Each but the mean is one of the values."""
    ordered = sorted(values)
    if not ordered:
        return {}
    last = len(ordered) - 1
    told = {name: ordered[round(share * last)] for name, share in SHARES.items()}
    return {**told, "mean": round(sum(ordered) / len(ordered), 4)}


def of_images(sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Of widths and heights: how often each size occurs, how many have a longer side of up to so many pixels, quantiles."""
    if not sizes:
        return {}
    counts = Counter(f"{width}×{height}" for width, height in sizes)
    common = dict(sorted(counts.most_common(SIZES_LISTED)))
    return {
        "looked_at": len(sizes),
        "sizes": common,
        "other_sizes": len(sizes) - sum(common.values()),
        "different": len(counts),
        "longer_side": _by_edges([max(size) for size in sizes]),
        "width": quantiles(width for width, _ in sizes),
        "height": quantiles(height for _, height in sizes),
        "pixels": quantiles(width * height for width, height in sizes),
    }


def _by_edges(sides: Sequence[int]) -> dict[str, int]:
    told: dict[str, int] = {}
    for side in sides:
        edge = next((edge for edge in EDGES_PX if side <= edge), None)
        name = f"≤{edge}" if edge is not None else f">{EDGES_PX[-1]}"
        told[name] = told.get(name, 0) + 1
    names = [*(f"≤{edge}" for edge in EDGES_PX), f">{EDGES_PX[-1]}"]
    return {name: told[name] for name in names if name in told}


def largest_images(named: Iterable[tuple[str, int, int]]) -> list[dict[str, Any]]:
    """name, width and height of those with most pixels."""
    ordered = sorted(named, key=lambda each: (-each[1] * each[2], each[0]))
    return [{"name": name, "width": width, "height": height} for name, width, height in ordered[:LARGEST_LISTED]]


def of_counts(counts: Sequence[int]) -> dict[str, Any]:
    """Of boxes in each image: quantiles, and how many there are."""
    if not counts:
        return {}
    return {"looked_at": len(counts), "total": sum(counts), "none": sum(not count for count in counts), **quantiles(counts)}


def digest(parts: Iterable[str]) -> str:
    """The same for the same parts in any order."""
    total = hashlib.sha256()
    for part in sorted(parts):
        total.update(part.encode("utf-8", "backslashreplace") + b"\n")
    return total.hexdigest()
