"""The checksum of a record does not match.

What it is
----------
A TFRecord file keeps a checksum for each length and each content. One of them is wrong: the file was damaged on its way or
its disk.

What it does to a training
--------------------------
The run stops at that record with DataLossError, perhaps after days.

How we know
-----------
While reading: the checksums are computed again.

When this is wrong
------------------
If a program wrote wrong checksums. TensorFlow will refuse the file all the same.

What to do
----------
Copy or write the file again, and look at the disk. `--fix` writes a copy without the damaged records.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("record_crc_wrong")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return fix_by_writing(found, "the damaged record is left out")
