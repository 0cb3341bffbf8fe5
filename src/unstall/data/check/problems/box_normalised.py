"""The boxes are shares of the image where pixels are expected.

What it is
----------
COCO and Pascal VOC give boxes in pixels. Here they lie between 0 and 1, as YOLO and TFRecords have them.

What it does to a training
--------------------------
Every object is taken for a box smaller than a pixel in the upper left corner. No anchor fits, the box loss is enormous or 0,
and the detector finds nothing. There is no error.

How we know
-----------
All boxes of the image lie between 0 and 1, and some of them have fractions.

When this is wrong
------------------
If all objects of an image really lie in its first pixel.

What to do
----------
Multiply by the width and height of the image: `--fix` does, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.check.fixes import Fix, get_box
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    table = checked.table
    return [
        checked.create_box_finding(
            "box_normalised",
            index,
            f"Expected pixels of an image of {checked.get_image_size(index)}. "
            f"Received: shares, {format_box(table.boxes[index])}.",
        )
        for index in np.flatnonzero(checked.fits.normalised)
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        box, row = get_box(checked, finding), checked.rows[finding.example]
        size = checked.size(row)
        if box is not None and finding.box is not None and size is not None:
            left, top, right, bottom = (float(value) for value in box * np.array([*size, *size]))
            what = f"the box is multiplied by {size[0]:g}×{size[1]:g}"
            result.append(Fix(finding, what, row, box=(finding.box, (left, top, right, bottom))))
    return result
