"""A few images hold far more boxes than the others.

What it is
----------
Where images have some ten boxes, one has 400.

What it does to a training
--------------------------
Matching compares every anchor with every box: memory grows with their product, so one such image can ask for forty times the
usual and end the run. Batches are padded to the largest count; fixed pipelines (`max_number_of_boxes: 100`) cut the rest off
in silence.

How we know
-----------
The number of boxes against the 95th percentile of the images that have any, and against a number that is never trouble.

When this is wrong
------------------
If crowded images are what the detector is for. It is a note.

What to do
----------
Look at the image. Cut it into tiles, mark crowds as crowds, or set the largest number of boxes and plan the memory for it.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.INFO
TIMES_USUAL = 5.0  # so many times the 95th percentile
MIN_BOXES = 100  # fewer trouble nobody


def examine(checked: CheckedData) -> list[Finding]:
    counts = np.array([example.count for example in checked.data.examples], np.int64)
    some = counts[counts > 0]
    if len(some) < 2:
        return []
    usual = float(np.percentile(some, 95, method="lower"))
    limit = max(TIMES_USUAL * usual, MIN_BOXES)
    return [
        checked.create_image_finding(
            "box_count_outlier",
            int(row),
            f"Expected up to {limit:,.0f} boxes: 19 of 20 images have at most {usual:,.0f}. Received: {counts[row]:,}.",
        )
        for row in np.flatnonzero(counts > limit)
    ]
