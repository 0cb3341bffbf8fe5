"""A box reaches beyond the right or the lower edge of its image.

What it is
----------
A part of the box lies outside, by more than rounding: the whole extent of an object that is cut by the edge was guessed, or
the image was cut or made smaller after it was annotated.

What it does to a training
--------------------------
The TF Object Detection API stops with 'maximum box coordinate value is larger than 1.1'. Elsewhere the detector is told to
predict edges that it cannot see, and detections that are cut at the edge never match well.

How we know
-----------
The right and lower edge against the image's size. Up to a pixel, or a thousandth of the side, is let pass: conventions and
rounding differ by that. Crowds are left alone.

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
    over = (right > table.width + fits.slack_x) | (bottom > table.height + fits.slack_y)
    touches = (left < table.width) & (top < table.height) & (right > 0) & (bottom > 0) & (right > left) & (bottom > top)
    found = []
    for index in np.flatnonzero(fits.plain & over & touches & ~table.crowd):
        message = (
            f"Expected right ≤ {table.width[index]:g} and bottom ≤ {table.height[index]:g}, the size of the image."
            f" Received: {format_box(table.boxes[index])}."
        )
        found.append(checked.create_box_finding("box_partly_outside", index, message))
    return found


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return clip(checked, found)
