"""The annotation gives another size than the image has.

What it is
----------
Width and height in the annotation are not those of the image: they were swapped, or the image was made smaller after it was
annotated, or EXIF has turned it.

What it does to a training
--------------------------
Boxes are divided by the size in the annotation and multiplied by the image's: all of them are stretched or shifted. The run
trains on boxes that miss their objects, and learns badly without an error.

How we know
-----------
The annotation's size against the image's own header. One pixel of difference is let pass, and a size that fits the image as
EXIF turns it is told by `image_rotated`.

When this is wrong
------------------
If the loader never looks at the size in the annotation and the boxes fit the image.

What to do
----------
Correct the size, or scale the boxes. `--fix` does, in a copy, where it can be told which of the two is meant.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix
from unstall.data.example import Example, Finding

SEVERITY = Severity.WARNING
MAX_PIXELS = 1  # of difference
SAME_SHAPE = 0.01  # width over height may differ by as much if the image was only made smaller or larger


def examine(checked: CheckedData) -> list[Finding]:
    found = []
    for row, facts in checked.images.items():
        example = checked.data.examples[row]
        if not example.width or not example.height or not facts.width or facts.is_refused or example.size_is_from_image:
            continue
        if not _near(example, facts.width, facts.height) and not (
            facts.orientation >= 5 and _near(example, facts.height, facts.width)
        ):
            swapped = ": width and height are swapped" if _near(example, facts.height, facts.width) else ""
            message = (
                f"Expected {facts.width}×{facts.height}, the size of the image."
                f" Received: {example.width}×{example.height} in the annotation{swapped}."
            )
            found.append(checked.create_image_finding("size_differs", row, message))
    return found


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        row = checked.rows[finding.example]
        example, facts = checked.data.examples[row], checked.images[row]
        size = (facts.width, facts.height)
        scale_x, scale_y = facts.width / (example.width or 1), facts.height / (example.height or 1)
        if _fit(example, *size):
            result.append(Fix(finding, f"the size is set to {size[0]}×{size[1]}, which the boxes fit", row, size=size))
        elif abs(scale_x / scale_y - 1) <= SAME_SHAPE and _fit(example, example.width or 0, example.height or 0):
            boxes = example.boxes * np.array([scale_x, scale_y, scale_x, scale_y])
            what = f"the boxes are scaled by {scale_x:.4g} to the image's {size[0]}×{size[1]}"
            result.append(Fix(finding, what, row, size=size, boxes=boxes))
    return result


def _near(example: Example, width: int, height: int) -> bool:
    return abs((example.width or 0) - width) <= MAX_PIXELS and abs((example.height or 0) - height) <= MAX_PIXELS


def _fit(example: Example, width: int, height: int) -> bool:
    boxes = example.boxes
    return bool((boxes[:, [0, 2]] <= width + 1).all() and (boxes[:, [1, 3]] <= height + 1).all())
