"""A box is smaller than two pixels.

What it is
----------
A box that covers next to nothing: a slip of the mouse, a splinter left by cutting an image into tiles, or a real object far
away.

What it does to a training
--------------------------
No anchor fits it, so it is matched by force or not at all; after the image is made smaller it is a fraction of a pixel.
Relative errors of such boxes are huge and pull at the box loss. A fraction of a pixel may round to no area.

How we know
-----------
The shorter side against the limit, in pixels of the image as it is stored. Boxes of crowds are left alone.

When this is wrong
------------------
For real tiny objects: stars, distant aircraft, cells. It is a note.

What to do
----------
Look at some with `unstall data show`. Remove splinters; for real ones train on larger images or tiles.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.example import Finding

SEVERITY = Severity.INFO
MIN_SIDE = 2.0  # pixels


def examine(checked: CheckedData) -> list[Finding]:
    table = checked.table
    sides = table.boxes[:, 2:] - table.boxes[:, :2]
    shorter = sides.min(axis=1, initial=np.inf)
    wrong = checked.fits.plain & (shorter > 0) & (shorter < MIN_SIDE) & ~table.crowd
    return [
        checked.create_box_finding(
            "box_tiny",
            index,
            f"Expected sides of {MIN_SIDE:g} pixels or more. Received: {sides[index, 0]:.3g}×{sides[index, 1]:.3g},"
            f" {format_box(table.boxes[index])}.",
        )
        for index in np.flatnonzero(wrong)
    ]
