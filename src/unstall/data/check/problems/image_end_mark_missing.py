"""A JPEG lacks its end mark.

What it is
----------
A JPEG ends with the two bytes FF D9. This file has all lines of its picture and ends without them, as some cameras, screen
recorders and cut downloads leave it.

What it does to a training
--------------------------
`unstall train` and `cv2.imread` read the whole picture. Pillow, and with it torchvision's `ImageFolder` and
`keras.utils.load_img`, stops with "image file is truncated", and TensorFlow's `decode_jpeg` with "Invalid JPEG data or crop
window".

How we know
-----------
The file is decoded to its last line once the mark is added. Of a progressive JPEG nobody can tell whether it is whole: without
its end mark it counts as `image_truncated`.

When this is wrong
------------------
If your loader reads such images, it is nothing. It is a note.

What to do
----------
Add the mark: `--fix` writes a copy with it, in which all other bytes are the same. Or let the loader pass over it, which hides
images that are really cut off, too: `PIL.ImageFile.LOAD_TRUNCATED_IMAGES = True`, `decode_jpeg(try_recover_truncated=True)`.
"""

from __future__ import annotations

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix, with_end_mark
from unstall.data.example import Finding

SEVERITY = Severity.INFO


def examine(checked: CheckedData) -> list[Finding]:
    return [
        checked.create_image_finding(
            "image_end_mark_missing",
            row,
            "Expected FF D9 at the end of a JPEG. Received: all of its lines, and no end mark. Pillow and tf.io refuse it.",
        )
        for row, facts in checked.images.items()
        if facts.lacks_end_mark
    ]


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    return with_end_mark(checked, found)
