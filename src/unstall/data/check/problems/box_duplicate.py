"""A box is a duplicate of another.

What it is
----------
Two boxes of one image have the same class and cover the same pixels, or nearly: annotations were merged, imported twice, or
drawn by two people.

What it does to a training
--------------------------
The object counts double in the loss. In the evaluation one detection can match only one of the two: the other counts as
missed, so no detector can reach full recall.

How we know
-----------
Class and overlap (intersection over union) are compared within each image. Crowds are left alone.

When this is wrong
------------------
If two objects really cover the same pixels, as a transparent one before another.

What to do
----------
Remove one: `--fix` keeps the first, in a copy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unstall.data.check.context import CheckedData, Severity, Table, format_box
from unstall.data.check.fixes import Fix, leave_out_boxes
from unstall.data.example import Finding, Flags, Floats

SEVERITY = Severity.WARNING
MIN_OVERLAP = 0.9  # intersection over union: two objects side by side do not reach it
_MAX_STEPS = 64  # neighbours of a box that are compared with it, of the same image and class, by their left edge


def examine(checked: CheckedData) -> list[Finding]:
    table = checked.table
    twice: dict[int, tuple[int, float]] = {}
    for first, second, overlap in _pairs(table, checked.fits.finite & ~table.crowd):
        early, late = sorted((first, second))
        twice.setdefault(late, (early, overlap))
    return [
        checked.create_box_finding(
            "box_duplicate",
            late,
            f"Expected each object once. Received: {format_box(table.boxes[late])}, which covers the same as box"
            f" {int(table.box[early]) + 1} of this image to {overlap:.0%}.",
        )
        for late, (early, overlap) in sorted(twice.items())
    ]


def _pairs(table: Table, considered: Flags) -> Iterator[tuple[int, int, float]]:
    """Each box with those after it, sorted by the left edge, as long as any may still overlap enough."""
    boxes = table.boxes
    usable = np.flatnonzero(considered & (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))
    order = usable[np.lexsort((boxes[usable, 0], table.classes[usable], table.row[usable]))]
    widths = boxes[:, 2] - boxes[:, 0]
    for step in range(1, _MAX_STEPS + 1):
        one, two = order[:-step], order[step:]
        near = (table.row[one] == table.row[two]) & (table.classes[one] == table.classes[two])
        near &= boxes[two, 0] - boxes[one, 0] <= (1 - MIN_OVERLAP) * widths[one]
        if not near.any():
            return
        one, two = one[near], two[near]
        overlap = _overlap(boxes[one], boxes[two])
        for index in np.flatnonzero(overlap >= MIN_OVERLAP):
            yield int(one[index]), int(two[index]), float(overlap[index])


def _overlap(one: Floats, two: Floats) -> Floats:
    sides = np.clip(np.minimum(one[:, 2:], two[:, 2:]) - np.maximum(one[:, :2], two[:, :2]), 0, None)
    shared = sides.prod(axis=1)
    return np.asarray(shared / ((one[:, 2:] - one[:, :2]).prod(axis=1) + (two[:, 2:] - two[:, :2]).prod(axis=1) - shared))


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_boxes(checked, found, "it is there twice")
