"""Some images are grey while the others have colours.

What it is
----------
An image with one channel in a data set whose images mostly have three.

What it does to a training
--------------------------
A loader that does not ask for three channels gets an array of another shape, and the run stops at that batch. Loaders that
ask (`decode_jpeg(channels=3)`, OpenCV by default) are not troubled.

How we know
-----------
The mode in the images' headers. A data set that is grey throughout, or mostly, is not named.

When this is wrong
------------------
Usually: most loaders ask for three channels, and COCO itself has some hundred grey images. It is a note.

What to do
----------
Ask the decoder for three channels.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.example import Finding

SEVERITY = Severity.INFO
MAX_SHARE = 0.5  # of the images; where more are grey, colour is the exception
_GREY = ("L", "LA", "1", "I;16", "I;16B", "I", "F")


def examine(checked: CheckedData) -> list[Finding]:
    whole = [facts for facts in checked.images.values() if not facts.error]
    grey = [row for row, facts in checked.images.items() if facts.mode in _GREY and not facts.error]
    if not grey or len(grey) > MAX_SHARE * len(whole):
        return []
    others = len(whole) - len(grey)
    return [
        checked.create_image_finding(
            "image_grey", row, f"Expected three channels, as {others:,} other images have. Received: one (grey)."
        )
        for row in grey
    ]
