"""An image is made for print: it holds cyan, magenta, yellow and black.

What it is
----------
A JPEG with four channels, as picture editors and agencies save for print.

What it does to a training
--------------------------
Decoders turn it into RGB in different ways, or not at all. Many such files hold their values inverted, and the colours come
out as a negative; a loader that keeps four channels stops at the batch's shape.

How we know
-----------
The mode in the image's header.

When this is wrong
------------------
If all images are like this and the loader is made for it.

What to do
----------
Convert it to RGB: `--fix` does, in a copy, at JPEG quality 95.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, as_rgb
from unstall.data.example import Finding

SEVERITY = Severity.WARNING


def examine(checked: CheckedData) -> list[Finding]:
    return [
        checked.create_image_finding("image_cmyk", row, "Expected an RGB or grey image. Received: CMYK, four channels for print.")
        for row, facts in checked.images.items()
        if facts.mode == "CMYK" and not facts.error
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return as_rgb(checked, found, "converted from CMYK to RGB")
