"""The image of an annotation is not there.

What it is
----------
An annotation names an image that the data set does not hold: it was never copied, was renamed, or its path belongs to another
machine.

What it does to a training
--------------------------
The run stops with 'no such file' when it comes to that example, at a random moment of the first epoch; or the loader skips it
and its boxes are lost without a word.

How we know
-----------
While reading: the path is tried as it stands, and where the format keeps its images.

When this is wrong
------------------
If the images are kept elsewhere on purpose; then check the folder that holds both.

What to do
----------
Copy the images, or correct the paths. `--fix` writes a copy without these annotations.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing, leave_out_without_image
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("image_missing")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    left_out = leave_out_without_image(checked, found, "it is not there")
    is_whole = all(example.image is not None for example in checked.data.examples)
    never_read = [finding for finding in found if finding.example not in checked.rows and (finding.example or is_whole)]
    return left_out + fix_by_writing(never_read, "the annotation is left out: its image is not there")
