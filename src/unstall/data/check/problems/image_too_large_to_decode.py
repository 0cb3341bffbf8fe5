"""An image would take up more memory than is safe to decode: a decompression bomb.

What it is
----------
A few kilobytes that unfold to half a gigabyte or more, by accident (a map, a scan of a whole slide) or by malice.

What it does to a training
--------------------------
The decoder asks for all of it at once, in each of its threads; the run is killed for memory. Pillow refuses it with an error.

How we know
-----------
The width and height in the header, before anything is decoded. Such images are not decoded here either.

When this is wrong
------------------
If the loader reads such an image in parts, as those for whole slides and satellite images do.

What to do
----------
Cut it into tiles, or make it smaller. `--fix` writes a copy without it.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, leave_out_images
from unstall.data.example import Finding

SEVERITY = Severity.ERROR


def examine(checked: CheckedData) -> list[Finding]:
    return [
        checked.create_image_finding(
            "image_too_large_to_decode", row, f"Expected an image of bearable size. Received: {facts.error}. Refused."
        )
        for row, facts in checked.images.items()
        if facts.is_refused
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return leave_out_images(checked, found, "it is too large to decode")
