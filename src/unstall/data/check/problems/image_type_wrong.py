"""An image is of another type than its name says.

What it is
----------
The name ends in .jpg and the bytes are those of a PNG, a WebP or a BMP: somebody renamed instead of converting, or a web
server sent what it liked.

What it does to a training
--------------------------
Programs that choose the decoder by the name stop at that image, and so do TensorFlow's operations on JPEG alone
(`decode_and_crop_jpeg`, `extract_jpeg_shape`). TensorFlow decodes neither WebP nor TIFF under any name. A PNG may bring a
fourth channel where three are expected.

How we know
-----------
The first bytes of the file against the ending of its name. Records have no ending and are not judged here.

When this is wrong
------------------
If the loader decodes by the bytes, as OpenCV, Pillow and `tf.io.decode_image` do, and the kind is one that it knows.

What to do
----------
Rename the file and its annotation: `--fix` does both, in a copy.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from unstall.data.check.context import CheckedData, Severity
from unstall.data.check.fixes import Fix
from unstall.data.example import Finding

SEVERITY = Severity.ERROR
_SUFFIXES = {
    "jpeg": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "png": (".png",),
    "gif": (".gif",),
    "bmp": (".bmp", ".dib"),
    "webp": (".webp",),
    "tiff": (".tif", ".tiff"),
}
_KIND_BY_SUFFIX = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes}


def examine(checked: CheckedData) -> list[Finding]:
    found = []
    for row, facts in checked.images.items():
        source = checked.data.examples[row].image
        if source is None or source.length is not None or not facts.kind:
            continue
        name = PurePosixPath(checked.data.examples[row].name)
        said = _KIND_BY_SUFFIX.get(name.suffix.lower())
        if said is not None and said != facts.kind:
            message = f"Expected a {said}, as '{name.name}' says. Received: the bytes of a {facts.kind}."
            found.append(checked.create_image_finding("image_type_wrong", row, message))
    return found


def propose_fixes(checked: CheckedData, found: list[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        row = checked.rows[finding.example]
        name = str(PurePosixPath(finding.example).with_suffix(_SUFFIXES[checked.images[row].kind][0]))
        if name not in checked.rows:
            result.append(Fix(finding, f"the image is named '{name}', as its bytes are", row, name=name))
    return result
