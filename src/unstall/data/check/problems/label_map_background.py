"""The label map holds a background class where none is expected.

What it is
----------
Number 0 is used in a format that counts from 1, or an entry is called background.

What it does to a training
--------------------------
The TF Object Detection API refuses a label map with the number 0. Elsewhere all classes are shifted by one, or the detector
learns background twice: once as its own, once as a class that no box ever has.

How we know
-----------
While reading: the number 0 in a label map, or a class named background that no box uses.

When this is wrong
------------------
If background is the name of a real class of objects.

What to do
----------
Remove the entry. Number the classes from 1 in a label map; from 0 in YOLO.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.WARNING


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("label_map_background")
