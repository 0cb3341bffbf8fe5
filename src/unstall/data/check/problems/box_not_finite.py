"""A box has a coordinate that is no number: NaN or infinite.

What it is
----------
Somewhere on the way a division by 0, an empty cell of a table or a failed tracking has become a coordinate.

What it does to a training
--------------------------
One NaN in one box makes the loss of its batch NaN, and then every weight. The run goes on and has learned nothing from there
on.

How we know
-----------
Each coordinate is looked at.

When this is wrong
------------------
Never.

What to do
----------
Remove the box, and look where it came from: `--fix` leaves it out, in a copy.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, Severity, format_box
from unstall.data.check.fixes import Fix, leave_out_boxes
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    boxes = checked.table.boxes
    return [
        checked.create_box_finding("box_not_finite", index, f"Expected four numbers. Received: {format_box(boxes[index])}.")
        for index in np.flatnonzero(~checked.fits.finite)
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_boxes(checked, found, "it has coordinates that are no numbers")
