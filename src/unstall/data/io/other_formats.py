"""What is no data set that is read here, known by its signs: what other programs keep, archives, images without boxes."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

FIRST_BYTES = 1 << 16  # of a file; labelme's holds the image itself further on
MAX_LISTED = 10_000  # files of a folder
MAX_FILES = 20  # of a kind, that are looked at

CVAT = "It is CVAT's own format: export the task as 'COCO 1.0' or 'YOLO'."
LABELME = "Its JSON files are labelme's own: `labelme2coco` makes COCO of them, labelme's examples make Pascal VOC."
LABEL_STUDIO = "It is Label Studio's own JSON: export the project as 'COCO' or 'YOLO with images'."
VIA = "It is VGG Image Annotator's own format: export annotations as 'COCO format'."
CREATE_ML = "It is CreateML's format: export the project as COCO or Pascal VOC."
CSV = "It has boxes in a CSV file: export the data as COCO, Pascal VOC or YOLO."
ARCHIVE = "{} is an archive: unpack it, and name the folder that comes out."
NO_BOXES = "It has images, and no file that could hold boxes: a detector learns from boxes."

ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst")
ANNOTATIONS = (".json", ".xml", ".txt", ".csv", ".yaml", ".yml", ".pbtxt", ".record", ".tfrecord", ".names", ".data", ".jsonl")
BOX_LINE = re.compile(  # image, four numbers, class, as training scripts of RetinaNet read them; or columns named after a box
    rb"^[^,\n]+\.(jpe?g|png|bmp|webp)\"?(,\"?-?[\d.]+){4}|^[^\n]*(\bbbox\b|\bx_?min\b|\bx1\b|\bx_?center\b)", re.IGNORECASE
)

SIGNS: tuple[tuple[str, tuple[bytes, ...], str], ...] = (  # ending, what all must occur, what is said
    (".xml", (b"<annotations", b"<image "), CVAT),
    (".json", (b'"shapes"', b'"imagePath"'), LABELME),
    (".json", (b'"annotations"', b'"result"', b'"data"'), LABEL_STUDIO),
    (".json", (b'"regions"', b'"shape_attributes"'), VIA),
    (".json", (b'"annotations"', b'"coordinates"', b'"image"'), CREATE_ML),
)


def suggest_format(path: Path) -> str:
    """Begins with a space; empty where nothing is known."""
    from unstall.data.io.reader import IMAGE_SUFFIXES  # with NumPy, which the names of formats are asked for without

    listed = [path] if path.is_file() else [each for each in islice(path.rglob("*"), MAX_LISTED) if each.is_file()]
    for suffix, signs, said in SIGNS:
        files = [file for file in listed if file.suffix.lower() == suffix][:MAX_FILES]
        if any(all(sign in _first(file) for sign in signs) for file in files):
            return f" {said}"
    if any(BOX_LINE.match(_first(file)) for file in [file for file in listed if file.suffix.lower() == ".csv"][:MAX_FILES]):
        return f" {CSV}"
    archive = next((file for file in listed if file.suffix.lower() in ARCHIVES), None)
    if archive is not None:
        return f" {ARCHIVE.format(archive.name)}"
    has_images = any(file.suffix.lower() in IMAGE_SUFFIXES for file in listed)
    return f" {NO_BOXES}" if has_images and not any(file.suffix.lower() in ANNOTATIONS for file in listed) else ""


def _first(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(FIRST_BYTES)
    except OSError:
        return b""
