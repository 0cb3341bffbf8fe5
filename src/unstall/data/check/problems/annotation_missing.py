"""An image has no annotation.

What it is
----------
An image lies in the data set's folder, or in its list of images, and no annotation speaks of it.

What it does to a training
--------------------------
It depends on the loader: the image is left out without a word, is taken as background (an image with nothing in it), or stops
the run. If there are objects in it, background is the worst: the detector is punished for finding them.

How we know
-----------
While reading: images that the format would annotate, less those that it does.

When this is wrong
------------------
Images without objects are often kept this way on purpose, above all in YOLO data sets. It is therefore only a note.

What to do
----------
Look at some of them: `unstall data show`. Write an empty annotation for true background; annotate or remove the others.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.INFO


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("annotation_missing")
