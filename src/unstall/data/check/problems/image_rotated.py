"""An image is stored lying on its side or head, and a note in its EXIF says how to turn it.

What it is
----------
Cameras store what the sensor saw and note how they were held. Programs that heed the note show the image upright, others do
not. The boxes were drawn either on the turned image or on the stored one.

What it does to a training
--------------------------
OpenCV's `imread` turns the image, TensorFlow and Pillow do not. When the loader does otherwise than the annotator's program
did, every box of the image is in the wrong place. `unstall` turns the image where the size in the annotation is that of the
turned one, and leaves it as it is stored where not.

How we know
-----------
EXIF orientation other than 1. Which image the boxes belong to is judged by what fits: the size in the annotation, and whether
boxes reach beyond the stored image but not beyond the turned one. YOLO's are those of the turned image. Where both fit it is
said that it cannot be told.

When this is wrong
------------------
If loader and annotations agree; then nothing is wrong in your program, and the next one may do otherwise.

What to do
----------
Turn the image itself and drop the note: `--fix` does, in a copy, where it can be told which image the boxes belong to.
"""

from __future__ import annotations

import numpy as np

from unstall.data.check.context import CheckedData, ImageFacts, Severity
from unstall.data.check.fixes import Fix, remove_turn, turn_upright
from unstall.data.example import Finding

SEVERITY = Severity.WARNING
_TURNS = {
    2: "mirrored",
    3: "turned by 180°",
    4: "mirrored top to bottom",
    5: "mirrored and turned by 90°",
    6: "turned right by 90°",
    7: "mirrored and turned by 90°",
    8: "turned left by 90°",
}
_SAID = {
    "turned": "The boxes belong to the turned image: a loader that ignores EXIF puts them in the wrong place.",
    "stored": "The boxes belong to the image as it is stored: a loader that heeds EXIF puts them in the wrong place.",
    "": "Which of the two the boxes belong to cannot be told: both fit.",
}


def examine(checked: CheckedData) -> list[Finding]:
    found = []
    for row, facts in checked.images.items():
        if facts.orientation != 1 and not facts.error:
            message = f"Expected an upright image. Received: EXIF orientation {facts.orientation} ({_TURNS[facts.orientation]}). "
            said = _SAID[find_annotated_orientation(checked, row, facts)]
            found.append(checked.create_image_finding("image_rotated", row, message + said))
    return found


def find_annotated_orientation(checked: CheckedData, row: int, facts: ImageFacts) -> str:
    """'turned', 'stored', or '' where it cannot be told."""
    example, table = checked.data.examples[row], checked.table
    if facts.orientation < 5 or facts.width == facts.height:
        return ""
    if (example.width, example.height) == (facts.height, facts.width):
        return "turned"
    own = slice(*np.searchsorted(table.row, [row, row + 1]))
    if checked.fits.turned[own].any():
        return "turned"
    stored = not example.size_is_from_image and (example.width, example.height) == (facts.width, facts.height)
    beyond = (table.boxes[own, 2] > facts.height + 1) | (table.boxes[own, 3] > facts.width + 1)
    return "stored" if stored or beyond.any() else ""


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        row = checked.rows[finding.example]
        judged = find_annotated_orientation(checked, row, checked.images[row])
        if judged:
            result += [turn_upright(checked, finding, row) if judged == "turned" else remove_turn(checked, finding, row)]
    return [fix for fix in result if fix is not None]
