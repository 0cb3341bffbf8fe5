r"""A path is of another machine; the file itself lies in the data set.

What it is
----------
The annotation says `C:\Users\anna\photos\1.jpg`, `/content/drive/photos/1.jpg`, `../../upload/1.jpg` or `photos\1.jpg`, as tools
that label images write it, and the data set holds `1.jpg`; or it is written as for a web page, `a%20b.jpg` for `a b.jpg`.

What it does to a training
--------------------------
Where the path is taken as it stands, it ends in 'no such file' on every machine but one. `unstall` takes the file that it found.

How we know
-----------
While reading: the path leads out of the data set, or has backslashes or the like of %20, and the end of it, as much as fits,
is the path of an image inside. What lies outside is not opened.

When this is wrong
------------------
If another image of the same name was meant, which lies outside.

What to do
----------
Name the images from the data set's folder. `--fix` writes a copy in which they are named so.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("path_foreign")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return fix_by_writing(found, "the copy names the image from its own folder")
