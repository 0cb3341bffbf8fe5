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

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing, leave_out_unknown_classes
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("class_unknown")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    left_out = leave_out_unknown_classes(checked, found, "its class is not known")
    rows = {fix.row for fix in left_out}
    by_number = [finding for finding in found if checked.rows.get(finding.example, -1) not in {*rows, -1}]
    return left_out + fix_by_writing(by_number, "the name of the class is that of its number")
