"""A box has no area: its width or its height is 0.

What it is
----------
Two opposite edges coincide: a click without a drag in the annotator's program, or a box that was rounded or cut away.

What it does to a training
--------------------------
The logarithm of a width of 0 is minus infinity: the loss becomes infinite or NaN, and then so does every weight. torchvision
stops with 'All bounding boxes should have positive height and width'.

How we know
-----------
Left equals right, or top equals bottom.

When this is wrong
------------------
If a point is meant, for a model that learns points; or in a Pascal VOC data set of the challenge itself, where the last pixel
belongs to the box and an object may be one pixel wide.

What to do
----------
Remove the box: `--fix` does, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.check.fixes import Fix, leave_out_boxes
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    boxes = checked.table.boxes
    proper_order = (boxes[:, 2] >= boxes[:, 0]) & (boxes[:, 3] >= boxes[:, 1])
    wrong = checked.fits.finite & proper_order & ((boxes[:, 2] == boxes[:, 0]) | (boxes[:, 3] == boxes[:, 1]))
    found = []
    for index in np.flatnonzero(wrong):
        left, top, right, bottom = boxes[index]
        message = (
            f"Expected a width and a height above 0. Received: {right - left:g}×{bottom - top:g} pixels, "
            f"{format_box(boxes[index])}."
        )
        found.append(checked.create_box_finding("box_no_area", index, message))
    return found


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_boxes(checked, found, "it has no area")
