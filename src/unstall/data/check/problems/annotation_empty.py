"""An annotation marks nothing.

What it is
----------
The annotation of an image is there, and holds no box.

What it does to a training
--------------------------
The image is background. A few are good: they teach what is not an object. Some losses divide by the number of boxes and give
NaN for a batch without any; SSD's hard negative mining takes no negatives from such an image.

How we know
-----------
While reading: the annotation was read to its end and held no box.

When this is wrong
------------------
Nearly always: background images are normal. It is a note, to be read when the number surprises.

What to do
----------
Look at some of them with `unstall data show`. If most of a data set is empty, an export has probably lost its boxes.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.INFO


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("annotation_empty")
