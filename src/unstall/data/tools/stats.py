"""What a data set holds, in numbers: images, classes, boxes, sizes, shapes, outliers, and how well anchors fit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from unstall.data.anchors import ANCHORS, fit
from unstall.data.check.context import CheckedData
from unstall.data.example import DataSet, Flags, Floats

SMALL, MEDIUM = 32**2, 96**2  # COCO's limits, in pixels of the image as it is stored
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
OUTLIERS = 10  # of each kind that are named
FARTHEST = 5.0  # an outlier's logarithm lies so many times the middle half's width from the median


def compute_stats(data: DataSet, detectors: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Plain data. `detectors`: whose anchors are tried; None is all that are known."""
    checked = CheckedData(data, {})
    table = checked.table
    sides = table.boxes[:, 2:] - table.boxes[:, :2]
    proper = np.isfinite(table.boxes).all(axis=1) & (sides > 0).all(axis=1) & np.isfinite(table.width)
    counts = np.array([example.count for example in data.examples], np.int64)
    sizes = np.array([checked.size(row) or (np.nan, np.nan) for row in range(len(data.examples))]).reshape(-1, 2)
    known = sizes[np.isfinite(sizes).all(axis=1)]
    usable, images = table.boxes[proper], np.stack([table.width[proper], table.height[proper]], axis=1)
    return {
        "path": str(data.path),
        "format": data.format,
        "images": len(data.examples),
        "images_without_boxes": int((counts == 0).sum()),
        "boxes": int(counts.sum()),
        "boxes_left_out": int((~proper).sum()),  # of no area, not finite, or of an image of unknown size
        "splits": {name: len(rows) for name, rows in data.splits().items()},
        "classes": _classes(checked, proper),
        "boxes_per_image": compute_spread(counts.astype(np.float64)),
        "image_width": compute_spread(known[:, 0]),
        "image_height": compute_spread(known[:, 1]),
        "box_width": compute_spread(sides[proper, 0]),
        "box_height": compute_spread(sides[proper, 1]),
        "box_share_of_image": compute_spread(sides[proper].prod(axis=1) / images.prod(axis=1)),
        "aspect_ratio": compute_spread(sides[proper, 0] / sides[proper, 1]),
        "by_size": _by_size(sides[proper].prod(axis=1)),
        "crowds": int(table.crowd.sum()),
        "difficult": int(table.difficult.sum()),
        "outliers": _outliers(checked, proper),
        "anchors": [asdict(fit(usable, images, name)) for name in (ANCHORS if detectors is None else detectors)],
    }


def compute_spread(values: Floats) -> dict[str, float] | None:
    """Mean and quantiles; None of nothing."""
    if not len(values):
        return None
    found = np.quantile(values, QUANTILES)
    named = {f"{100 * share:g}%": round(float(value), 4) for share, value in zip(QUANTILES, found, strict=True)}
    return {"mean": round(float(values.mean()), 4), **named}


def _classes(checked: CheckedData, proper: Flags) -> list[dict[str, Any]]:
    table, names = checked.table, checked.data.classes
    valid = (table.classes >= 0) & (table.classes < len(names))
    boxes = np.bincount(table.classes[valid], minlength=len(names))
    pairs = np.unique(np.stack([table.classes[valid], table.row[valid]], axis=1), axis=0)
    images = np.bincount(pairs[:, 0], minlength=len(names))
    areas = (table.boxes[:, 2:] - table.boxes[:, :2]).prod(axis=1)
    rows = []
    for number in np.argsort(-boxes, kind="stable"):
        own = areas[valid & proper & (table.classes == number)]
        rows.append(
            {
                "class": names[number],
                "boxes": int(boxes[number]),
                "images": int(images[number]),
                "median_side": round(float(np.sqrt(np.median(own))), 1) if len(own) else None,
            }
        )
    return rows


def _by_size(areas: Floats) -> dict[str, dict[str, float]]:
    groups = {"small": areas < SMALL, "medium": (areas >= SMALL) & (areas < MEDIUM), "large": areas >= MEDIUM}
    return {
        name: {"boxes": int(group.sum()), "share": round(float(group.mean()), 4) if len(areas) else 0.0}
        for name, group in groups.items()
    }


def _outliers(checked: CheckedData, proper: Flags) -> list[dict[str, Any]]:
    """The boxes, and images by their boxes, that lie farthest from what is usual here."""
    table = checked.table
    sides = np.where(proper[:, None], table.boxes[:, 2:] - table.boxes[:, :2], 1.0)
    found = []
    for what, values, unit in (("area", sides.prod(axis=1), "pixels"), ("aspect ratio", sides[:, 0] / sides[:, 1], "")):
        for index in _farthest(values, proper):
            finding = checked.create_box_finding("", index, "")
            found.append({"what": what, "value": round(float(values[index]), 3), "unit": unit, "place": str(finding.origin)})
    counts = np.array([example.count for example in checked.data.examples], np.float64)
    for row in _farthest(counts, counts > 0):
        finding = checked.create_image_finding("", int(row), "")
        found.append({"what": "boxes in an image", "value": int(counts[row]), "unit": "", "place": str(finding.origin)})
    return found


def _farthest(values: Floats, considered: Flags) -> list[int]:
    rows = np.flatnonzero(considered)
    if len(rows) < 20:
        return []
    logs = np.log(values[rows])
    low, middle, high = np.quantile(logs, (0.25, 0.5, 0.75))
    distance = np.abs(logs - middle) / max(float(high - low), 0.1)
    order = np.argsort(-distance, kind="stable")[:OUTLIERS]
    return [int(rows[index]) for index in order if distance[index] > FARTHEST]
