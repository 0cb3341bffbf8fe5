"""A path differs from the file's name by upper and lower case only, or by how an accent is stored.

What it is
----------
The annotation says `IMG_1.JPG`, and the folder holds `img_1.jpg`. Or both say `köln.jpg`, and one stores ö
as one character (NFC), the other as o with its dots (NFD), as macOS does.

What it does to a training
--------------------------
It works on Windows and macOS, where case does not count, and fails with 'no such file' on the Linux machine that trains.

How we know
-----------
While reading: the path is not there, and one that is the same but for case or the form of accents is.

When this is wrong
------------------
If the data set is only ever read where case does not count.

What to do
----------
Rename the files or the paths. `--fix` writes a copy in which they agree.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("path_case_differs")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return fix_by_writing(found, "the image and its path have the same name in the copy")
