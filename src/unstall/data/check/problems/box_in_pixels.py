"""A box is given in pixels where shares of the image are expected.

What it is
----------
YOLO and TFRecords give boxes as shares, from 0 to 1. Here the file has numbers far above 1, which lie in the image if they
are taken for pixels.

What it does to a training
--------------------------
Multiplied by the size of the image the box lies hundreds of images away. The TF Object Detection API stops with 'maximum box
coordinate value is larger than 1.1'; others cut it to no area (NaN), or never match it.

How we know
-----------
As the file has it, the box reaches beyond twice the image, and taken for pixels it lies inside.

When this is wrong
------------------
If the numbers belong to neither; look at the box.

What to do
----------
Divide by the width and height of the image: `--fix` does, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.check.fixes import Fix, get_box
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    table = checked.table
    found = []
    for index in np.flatnonzero(checked.fits.in_pixels):
        width, height = table.width[index], table.height[index]
        raw = table.boxes[index] / np.array([width, height, width, height])
        message = (
            f"Expected shares from 0 to 1. Received: {format_box(raw)}, which are pixels in {checked.get_image_size(index)}."
        )
        found.append(checked.create_box_finding("box_in_pixels", index, message))
    return found


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        box, row = get_box(checked, finding), checked.rows[finding.example]
        size = checked.size(row)
        if box is not None and finding.box is not None and size is not None:
            left, top, right, bottom = (float(value) for value in box / np.array([*size, *size]))
            what = f"the box is divided by {size[0]:g}×{size[1]:g}"
            result.append(Fix(finding, what, row, box=(finding.box, (left, top, right, bottom))))
    return result
