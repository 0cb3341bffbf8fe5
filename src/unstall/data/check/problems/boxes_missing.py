"""No image has a box.

What it is
----------
The data set was read to its end, and not one of its images has a box.

What it does to a training
--------------------------
There is nothing to learn. A loss over no boxes at all is zero, or NaN where it is divided by their number; the score stays 0 or
cannot be computed. `unstall train` refuses it.

How we know
-----------
The boxes of all images, counted: none.

When this is wrong
------------------
For images whose boxes are kept secret, as those of a challenge's test set, and for images that are only to be looked through.

What to do
----------
Look where the boxes went: an export without annotations, the file of another split, label files in another folder, a task for
classification or segmentation.
"""

from __future__ import annotations

from unstall.base.formatting import format_count
from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding, Origin

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    data = checked.data
    if not data.examples or any(example.count for example in data.examples):
        return []
    origin = Origin(next(iter(data.files), str(data.path)))
    images = format_count(len(data.examples), "image")
    return [Finding("boxes_missing", f"Expected boxes, found none: {images}, and nothing to learn.", origin)]
