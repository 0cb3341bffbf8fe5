"""An annotation cannot be read.

What it is
----------
A file or a line of the annotations is not what the format allows: broken XML or JSON, a line with too few numbers, a word
where a number belongs, a file that is cut off.

What it does to a training
--------------------------
The run stops where the loader meets it, which may be after hours; or the loader catches the error and the image is gone
without a word.

How we know
-----------
While reading: the parser names the file and the line, what was expected there and what came.

When this is wrong
------------------
If the data set uses an extension of the format that Unstall does not know.

What to do
----------
Look at the line that is named. `--fix` writes a copy without what could not be read.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("annotation_unparsable")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return fix_by_writing(found, "what cannot be read is left out")
