"""A few images are far larger than the others.

What it is
----------
Among images of half a megapixel lies one of twelve or more.

What it does to a training
--------------------------
It is decoded whole before it is made small: the memory of the loader's threads jumps, a cache holds twenty times as much as
planned, and batches that are padded to their largest image blow up on the device. The run dies of memory in some epoch, at
random.

How we know
-----------
Pixels against the median of the data set and against a size that any machine bears.

When this is wrong
------------------
If all images are made small before the training, or memory is ample. It is a note.

What to do
----------
Make the image smaller, or plan the memory for it.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.INFO
MEDIANS = 10.0  # so many times the median of the pixels
MIN_PIXELS = 8_000_000  # smaller images trouble nobody
MAX_SHARE = 0.02  # of the images; where more are large, large is usual here


def examine(checked: CheckedData) -> list[Finding]:
    refused = {row for row, facts in checked.images.items() if facts.is_refused}  # told as image_too_large_to_decode
    sizes = [None if row in refused else checked.size(row) for row in range(len(checked.data.examples))]
    pixels = np.array([size[0] * size[1] if size else 0.0 for size in sizes])
    known = pixels[pixels > 0]
    if not len(known):
        return []
    median = float(np.median(known))
    large = np.flatnonzero(pixels > max(MEDIANS * median, MIN_PIXELS))
    if len(large) > max(1.0, MAX_SHARE * len(known)):
        return []
    found = []
    for row in large:
        width, height = sizes[row] or (0.0, 0.0)
        message = (
            f"Expected about {median / 1e6:.2g} megapixels, the median. Received: {width:,.0f}×{height:,.0f},"
            f" {pixels[row] / 1e6:.1f} megapixels, {pixels[row] / median:.0f} times as many."
        )
        found.append(checked.create_image_finding("image_size_outlier", int(row), message))
    return found
