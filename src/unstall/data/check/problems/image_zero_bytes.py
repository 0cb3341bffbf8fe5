"""An image has no bytes at all.

What it is
----------
The file, or the image in a record, is empty: a download that never began, a disk that was full, a file that was only touched.

What it does to a training
--------------------------
Every decoder stops with an error at that image.

How we know
-----------
Its length is 0.

When this is wrong
------------------
Never, unless the file is just being written.

What to do
----------
Get the image again, or leave it out: `--fix` writes a copy without it.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, leave_out_images
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return [
        checked.create_image_finding("image_zero_bytes", row, "Expected an image. Received: 0 bytes.")
        for row, facts in checked.images.items()
        if facts.is_empty
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_images(checked, found, "it is empty")
