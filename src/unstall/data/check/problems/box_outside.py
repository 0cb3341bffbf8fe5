"""A box lies wholly outside its image.

What it is
----------
No part of the box is in the image: it belongs to another image, to the image before it was cut, or its numbers were mixed up.

What it does to a training
--------------------------
Cut at the image's edges it has no area: NaN in the loss, or an error. Where nothing cuts it, it is an object that can never
be found.

How we know
-----------
The box against the size of the image, or of the annotation where the image was not read. A box that would fit if it were
shares, pixels or had its axes swapped is told under that name.

When this is wrong
------------------
If the size in the annotation is wrong and the image was not read (`--no-images`).

What to do
----------
Look which image it belongs to. `--fix` leaves the box out, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.check.fixes import Fix, leave_out_boxes
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    table = checked.table
    left, top = table.boxes[:, [0, 2]].min(axis=1, initial=np.inf), table.boxes[:, [1, 3]].min(axis=1, initial=np.inf)
    right, bottom = table.boxes[:, [0, 2]].max(axis=1, initial=-np.inf), table.boxes[:, [1, 3]].max(axis=1, initial=-np.inf)
    beyond = (left >= table.width) | (top >= table.height) | (right <= 0) | (bottom <= 0)
    has_area = (right > left) & (bottom > top)
    return [
        checked.create_box_finding(
            "box_outside",
            index,
            f"Expected a box in an image of {checked.get_image_size(index)}. Received: {format_box(table.boxes[index])}.",
        )
        for index in np.flatnonzero(checked.fits.plain & beyond & has_area)
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_boxes(checked, found, "it lies outside the image")
