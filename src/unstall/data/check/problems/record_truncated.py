"""A file of records ends in the middle of one.

What it is
----------
A TFRecord file is cut off: its last record is shorter than it says. The program that wrote it was stopped, or the disk was
full.

What it does to a training
--------------------------
The run stops at the end of that file with DataLossError: truncated record.

How we know
-----------
While reading: the file ends before the record does.

When this is wrong
------------------
If the file is just being written.

What to do
----------
Write or copy it again. `--fix` writes a copy without the torn record.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("record_truncated")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return fix_by_writing(found, "the torn record is left out")
