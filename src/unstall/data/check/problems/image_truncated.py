"""An image is cut off, or damaged inside.

What it is
----------
The image begins well and ends before its last line, as after a broken download or on a full disk; or a part inside was
overwritten. Viewers show it with a grey or smeared rest, so nobody notices.

What it does to a training
--------------------------
TensorFlow and Pillow stop with an error at that image. OpenCV fills the rest with grey and goes on: the detector then learns
boxes around nothing.

How we know
-----------
Every image is decoded to its end, as `unstall train` does. A JPEG that lacks only its end mark is whole, and `unstall train`
learns from it; it is noted as `image_end_mark_missing`. One that holds a few bytes too many is not named.

When this is wrong
------------------
If your loader recovers such images on purpose and the boxes lie in the part that is there.

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
        checked.create_image_finding(
            "image_truncated",
            row,
            f"Expected all {facts.height:,} lines of a {facts.kind}. Received: {facts.error} ({facts.bytes:,} bytes).",
        )
        for row, facts in checked.images.items()
        if facts.is_truncated
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_images(checked, found, "it is cut off or damaged")
