"""A box has a class number that the data set does not have.

What it is
----------
The class of a box is a number below 0, or not below the number of classes.

What it does to a training
--------------------------
TensorFlow on a CPU stops with an error; on a GPU the loss becomes NaN, or the memory of a neighbour is read; JAX clamps it in
silence to the last class.

How we know
-----------
While reading: the number against the list of classes, the label map or the categories.

When this is wrong
------------------
If the list of classes that was found is not the one that belongs to these annotations.

What to do
----------
Number the classes from 0 (YOLO) or as the label map says. Often the list lacks its last names. `--fix` leaves such boxes out.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, leave_out_unknown_classes
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("class_out_of_range")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_unknown_classes(checked, found, "its class number is none of the data set's")
