"""The boxes of an image have x and y swapped.

What it is
----------
The file has (top, left, bottom, right) where (left, top, right, bottom) is expected, as TensorFlow and NumPy order them.

What it does to a training
--------------------------
In square images nothing looks wrong and every box is mirrored along the diagonal. In others some boxes lie outside. The
detector learns boxes that hold something else.

How we know
-----------
All boxes of the image fit once x and y change places, while at least one reaches out as it stands; and this
explains most of the boxes of the data set that lie outside, three at least. One alone may be just outside.

When this is wrong
------------------
If the boxes belong to another image that stands upright where this one lies.

What to do
----------
Swap them in all images of the same origin, those too in which it cannot be seen. `--fix` swaps where it was seen, in a copy.
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
            "box_axes_swapped",
            index,
            f"Expected a box in an image of {checked.get_image_size(index)}. Received: {format_box(table.boxes[index])};"
            " with x and y swapped, all boxes of this image fit.",
        )
        for index in np.flatnonzero(checked.fits.swapped)
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        box = get_box(checked, finding)
        if box is not None and finding.box is not None:
            swapped = (float(box[1]), float(box[0]), float(box[3]), float(box[2]))
            result.append(Fix(finding, "x and y are swapped", checked.rows[finding.example], box=(finding.box, swapped)))
    return result
