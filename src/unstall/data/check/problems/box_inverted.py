"""A box is inverted: its right edge lies left of the left one, or its bottom above the top.

What it is
----------
The corners of the box were written in another order than the format has them, or its width or height is negative: drawn from
the bottom right to the top left, and exported as drawn.

What it does to a training
--------------------------
The logarithm of a negative width is NaN, and then so is the loss and every weight. Where widths are clamped, the box has no
area and is never matched; torchvision stops with an error.

How we know
-----------
Left is not below right, or top not below bottom, and they are not equal.

When this is wrong
------------------
Never, in a format that says which corner is which.

What to do
----------
Swap the corners: `--fix` does, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.check.fixes import Fix, get_box
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    boxes = checked.table.boxes
    wrong = checked.fits.finite & ((boxes[:, 2] < boxes[:, 0]) | (boxes[:, 3] < boxes[:, 1]))
    return [
        checked.create_box_finding(
            "box_inverted",
            index,
            f"Expected left < right and top < bottom. Received: {format_box(boxes[index])} (left, top, right, bottom).",
        )
        for index in np.flatnonzero(wrong)
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        box = get_box(checked, finding)
        if box is not None and finding.box is not None:
            across, down = sorted((float(box[0]), float(box[2]))), sorted((float(box[1]), float(box[3])))
            corners = (across[0], down[0], across[1], down[1])
            result.append(Fix(finding, "the corners are swapped", checked.rows[finding.example], box=(finding.box, corners)))
    return result
