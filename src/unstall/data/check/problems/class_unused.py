"""A class is listed, and no box has it.

What it is
----------
The label map, the categories or the list of names holds a class that not one box of the whole data set belongs to.

What it does to a training
--------------------------
Its output learns to say no, always. Mean average precision over all classes counts it as 0 in some tools and leaves it out in
others, so scores cannot be compared.

How we know
-----------
The classes of all boxes, over all splits, against the list.

When this is wrong
------------------
If this is a part of a larger data set, and shares its list of classes: that is common. It is a note.

What to do
----------
Remove the class from the list if it will never come, or look whether its boxes have been lost or are spelled otherwise.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding, Origin

SEVERITY = Severity.INFO


def examine(checked: CheckedData) -> list[Finding]:
    data, classes = checked.data, checked.table.classes
    if not len(classes):
        return []
    used = np.bincount(classes[(classes >= 0) & (classes < len(data.classes))], minlength=len(data.classes))
    lists = [file for file in data.files if file.endswith((".pbtxt", ".yaml", ".yml", ".names", "labels.txt", "classes.txt"))]
    origin = Origin(next(iter([*lists, *data.files]), str(data.path)))
    return [
        Finding("class_unused", f"Class '{data.classes[number]}': expected at least one box, found none in the data set.", origin)
        for number in np.flatnonzero(used == 0)
    ]
