"""An image cannot be decoded.

What it is
----------
The bytes are those of no image that is known, or they begin as one and are damaged so early that nothing can be made of them.
Often a page of HTML that was saved in place of an image, or a video.

What it does to a training
--------------------------
The decoder raises an error and the run stops at that image, perhaps in the last hour of an epoch.

How we know
-----------
Every image is decoded to its end, by libjpeg-turbo or Pillow. The message is theirs.

When this is wrong
------------------
If the image is of a kind that your own loader can decode and these cannot: DICOM, raw, HEIC.

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
        checked.create_image_finding("image_unreadable", row, f"Expected an image that decodes. Received: {facts.error}.")
        for row, facts in checked.images.items()
        if facts.error and not facts.is_truncated and not facts.is_refused and not facts.is_empty
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_images(checked, found, "it cannot be decoded")
