"""The class numbers of the label map have gaps.

What it is
----------
The numbers of the classes do not follow one another: 1, 2, 4.

What it does to a training
--------------------------
A model built for as many outputs as there are names lacks outputs for the highest numbers: an error, a NaN, or classes that
are never learned. Unstall numbers the classes anew, from 0, and is not troubled.

How we know
-----------
While reading the label map, the categories or the list of names.

When this is wrong
------------------
Often: COCO itself has 80 classes with numbers up to 90, and its loaders know it. It is a note.

What to do
----------
Number the classes without gaps, or give the model as many outputs as the highest number needs.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.INFO


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("label_map_gaps")
