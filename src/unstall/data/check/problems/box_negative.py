"""A box begins left of its image or above it: a coordinate is negative.

What it is
----------
The left or upper edge is below 0 by more than rounding: the extent of an object that is cut by the edge was guessed, or an
augmentation has moved the box and nobody has cut it.

What it does to a training
--------------------------
Programs that crop by the box take a slice from the other end of the image. The TF Object Detection API stops with 'minimum
box coordinate value is less than 0'. Elsewhere the detector is told to predict edges that it cannot see.

How we know
-----------
The left and upper edge. Up to a pixel, or a thousandth of the side, is let pass: conventions and rounding differ by that.
Crowds are left alone, and a box that lies wholly outside is told as `box_outside`.

When this is wrong
------------------
If the whole extent of objects is meant to be learned, hidden parts included.

What to do
----------
Cut the boxes at the edges: `--fix` does, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.check.fixes import Fix, clip
from unstall.data.example import Finding

SEVERITY = Severity.WARNING


def examine(checked: CheckedData) -> list[Finding]:
    table, fits = checked.table, checked.fits
    left, top, right, bottom = table.boxes.T
    slack_x, slack_y = np.nan_to_num(fits.slack_x, nan=1.0), np.nan_to_num(fits.slack_y, nan=1.0)
    below = (left < -slack_x) | (top < -slack_y)
    unsized = fits.finite & np.isnan(table.width)
    within = fits.plain & (left < table.width) & (top < table.height) & (right > 0) & (bottom > 0)
    in_order = (right > left) & (bottom > top)
    return [
        checked.create_box_finding(
            "box_negative", index, f"Expected left ≥ 0 and top ≥ 0. Received: {format_box(table.boxes[index])}."
        )
        for index in np.flatnonzero((within | unsized) & below & in_order & ~table.crowd)
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return clip(checked, found)
