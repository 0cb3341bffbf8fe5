"""The same box is there twice.

What it is
----------
Two boxes of one image have the same class, and edges that differ by less than a pixel: annotations were merged, imported
twice, or drawn by two people.

What it does to a training
--------------------------
The object counts double in the loss. In the evaluation one detection can match only one of the two: the other counts as
missed, so no detector can reach full recall.

How we know
-----------
Class and edges are compared within each image. Crowds are left alone.

When this is wrong
------------------
If two objects really cover the same pixels, as a transparent one before another.

What to do
----------
Remove one: `--fix` keeps the first, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.checked import Checked, Severity, shown
from unstall.data.example import Finding, Flags, Floats
from unstall.data.mending import Mending, leave_out_boxes

SEVERITY = Severity.HARMS
MOST_PIXELS = 1.0  # by which each edge may differ, exclusive
_NEIGHBOURS = 3  # of boxes sorted by image, class and left edge that are compared with each


def examine(checked: Checked) -> list[Finding]:
    table = checked.table
    usable = np.flatnonzero(checked.fits.finite & ~table.crowd & _has_area(table.boxes))
    order = usable[np.lexsort((table.boxes[usable, 1], table.boxes[usable, 0], table.classes[usable], table.row[usable]))]
    twice: dict[int, int] = {}
    for step in range(1, _NEIGHBOURS + 1):
        one, two = order[:-step], order[step:]
        same = (table.row[one] == table.row[two]) & (table.classes[one] == table.classes[two])
        same &= (np.abs(table.boxes[one] - table.boxes[two]) < MOST_PIXELS).all(axis=1)
        for first, second in zip(one[same], two[same], strict=True):
            early, late = sorted((int(first), int(second)))
            twice.setdefault(late, early)
    return [
        checked.box_finding(
            "box_twice",
            late,
            f"Expected each object once. Received: {shown(table.boxes[late])}, as box {int(table.box[early]) + 1} of this image.",
        )
        for late, early in sorted(twice.items())
    ]


def _has_area(boxes: Floats) -> Flags:
    large: Flags = (boxes[:, 2] - boxes[:, 0] > 2 * MOST_PIXELS) & (boxes[:, 3] - boxes[:, 1] > 2 * MOST_PIXELS)
    return large


def mend(checked: Checked, found: list[Finding]) -> list[Mending]:
    return leave_out_boxes(checked, found, "it is there twice")
