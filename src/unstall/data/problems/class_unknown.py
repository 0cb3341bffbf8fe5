"""A box has a class that the data set does not name.

What it is
----------
The name of a box's class is not in the label map or the list of classes: a typing error, another spelling (`Car`, `car`), or
a list that belongs to another data set.

What it does to a training
--------------------------
The run stops with a KeyError; or the box is left out and its object becomes background, which the detector is then punished
for finding.

How we know
-----------
While reading: each name against the label map, the categories or the list of names that the data set brings.

When this is wrong
------------------
If the label map that was found is not the one that belongs to these annotations, or leaves classes out on purpose.

What to do
----------
Correct the name, or add the class to the list. `--fix` writes a copy without these boxes.
"""

from __future__ import annotations

import numpy as np

from unstall.data.checked import Checked, Severity
from unstall.data.example import UNKNOWN_CLASS, Finding
from unstall.data.mending import Mending, leave_out_boxes

SEVERITY = Severity.BREAKS


def examine(checked: Checked) -> list[Finding]:
    return checked.own("class_unknown")


def mend(checked: Checked, found: list[Finding]) -> list[Mending]:
    """Every such box, whichever the findings name: a format's reader knows the line, not always the box."""
    unknown = np.flatnonzero(checked.table.classes == UNKNOWN_CLASS)
    return leave_out_boxes(
        checked, [checked.box_finding("class_unknown", index, found[0].message) for index in unknown], "its class is not known"
    )
