"""An annotation names the image of another annotation.

What it is
----------
The <filename> of a Pascal VOC annotation names another image than the one that the annotation itself is named like, and both are
there; or several annotations name one image. So it is where annotations were made from a copy of another, or images were renamed
and their annotations were not.

What it does to a training
--------------------------
Tools that go by <filename>, as those of the TF Object Detection API do, learn the boxes of one image on another, use that image
several times, and never see the images that nobody names. Tools that go by the annotation's own name, as torchvision does, do
not.

How we know
-----------
While reading. The image that is named like the annotation is taken for its own, so that no image is lost. Where there is none
of that name, the one that <filename> says is taken, and it is named here only if another annotation has it, too.

When this is wrong
------------------
If the annotations are named by numbers of their own, which happen to be the names of other images: then <filename> is right.

What to do
----------
Look at some of them (`unstall data show`), and correct <filename> or the names of the files. `--fix` writes a copy in which both
agree.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, fix_by_writing
from unstall.data.example import Finding

SEVERITY = Severity.WARNING


def examine(checked: CheckedData) -> list[Finding]:
    return checked.own("annotation_image_mismatch")


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return fix_by_writing(found, "the copy names the image that was taken for the annotation's own")
