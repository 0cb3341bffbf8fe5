"""A path leads out of the data set's folder.

What it is
----------
An annotation names its image by an absolute path, or climbs with `..` to a place outside the data set.

What it does to a training
--------------------------
On any other machine the image is not there. From a stranger, such a path may also be meant to read what is not yours to
share.

How we know
-----------
While reading: the path, made plain, does not lie under the data set's folder. Such files are not opened.

When this is wrong
------------------
If images are kept apart from the annotations on purpose; then give `unstall` the folder above both.

What to do
----------
Put the images under the data set's folder and name them from there. `--fix` writes a copy without these
images.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing, leave_out_without_image
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("path_climbs_out")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    left_out = leave_out_without_image(checked, found, "its path leads out of the data set")
    done = {fix.finding for fix in left_out}
    others = [finding for finding in found if finding not in done]
    return left_out + fix_by_writing(others, "the copy names only what lies inside it")
