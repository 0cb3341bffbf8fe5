"""An image has 16 bits for each channel.

What it is
----------
A PNG or TIFF with values up to 65,535, as microscopes, depth cameras and X-ray machines write.

What it does to a training
--------------------------
TensorFlow's `decode_png` to uint8 and OpenCV keep the high byte; Pillow cuts at 255, and the image becomes white. The same
data set trains in one program and shows nothing in another.

How we know
-----------
The mode that the image's header gives.

When this is wrong
------------------
If the loader reads 16 bits and scales them itself.

What to do
----------
Convert to 8 bits in a way that you choose: `--fix` keeps the high byte, in a copy.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, as_8_bit
from unstall.data.example import Finding

SEVERITY = Severity.WARNING


def examine(checked: CheckedData) -> list[Finding]:
    return [
        checked.create_image_finding(
            "image_16_bit", row, f"Expected 8 bits for each channel. Received: {facts.bits} ({facts.kind}, {facts.mode})."
        )
        for row, facts in checked.images.items()
        if facts.bits > 8 and not facts.error
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return as_8_bit(checked, found)
