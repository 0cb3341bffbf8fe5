"""The formats of data sets. A format is a file of this folder: its name is the format's, its docstring the page.

Each has `SIGNS` (what it is known by), `recognise(path)` (which of them were found; empty: none), `read(path, …)` and
`write(data, path, …)`.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from unstall.base.errors import InvalidInputError
from unstall.base.registry import Registry
from unstall.storage import is_bucket, resolve_path

if TYPE_CHECKING:
    from unstall.base.console import Progress
    from unstall.data.example import DataSet

FORMATS = Registry(__name__, "format")
HEADINGS = ("What it is", "How it is recognised", "What is read", "What is written", "What it cannot hold")
MAX_FOLDERS = 50  # within it, that are looked at where it is no data set itself
MAX_LISTED = 10_000  # files of a folder that are counted for the message that nothing was recognised


def recognise(path: Path | str) -> str:
    """The name of the one format that fits."""
    path = resolve_path(path)
    fitting = {name: found for name in FORMATS.names() if (found := FORMATS.module(name).recognise(path))}
    if len(fitting) == 1:
        return next(iter(fitting))
    if fitting:
        found = "; ".join(f"{name} ({signs})" for name, signs in fitting.items())
        raise InvalidInputError(f"'{path}' could be of several formats: {found}. Say which with --format.")
    if not path.exists():
        raise InvalidInputError(f"'{path}' is not there.")
    looked_for = "; ".join(f"{name}: {FORMATS.module(name).SIGNS}" for name in FORMATS.names())
    hint = "" if is_bucket(path) else _within(path) or suggest_format(path)
    raise InvalidInputError(
        f"'{path}' is in no format that is known.{hint} Looked for {looked_for}. Found: {_what_is_there(path)}."
    )


def _within(path: Path) -> str:
    """An archive unpacks to a folder in a folder: the one that holds the data set is named."""
    inner = sorted(each for each in path.glob("*/") if each.is_dir()) if path.is_dir() else []
    inner += [deeper for each in inner for deeper in sorted(each.glob("*/")) if deeper.is_dir()]
    for folder in inner[:MAX_FOLDERS]:
        for name in FORMATS.names():
            if FORMATS.module(name).recognise(folder):
                return f" But '{folder}' is ({name}): name that folder."
    return ""


def read(
    path: Path | str, format: str | None = None, progress: Progress | None = None, labels: Path | str | None = None
) -> DataSet:
    """A data set, with what was found wrong while reading it. `labels` is a label map or class list that lies elsewhere."""
    path = resolve_path(path)
    module = FORMATS.module(format or recognise(path))
    data: DataSet = module.read(path, progress=progress, labels=resolve_path(labels) if labels else None)
    return data


def _what_is_there(path: Path) -> str:
    if not path.is_dir():
        return f"a file of {path.stat().st_size:,} bytes"
    kinds: Counter[str] = Counter()
    for entry in islice(path.rglob("*"), MAX_LISTED):
        kinds["folders" if not is_bucket(path) and entry.is_dir() else entry.suffix.lower() or "no ending"] += 1
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(6)) or "nothing"


# --- pages ---


def list_summaries() -> dict[str, str]:
    """The first line of each page, read without loading the format."""
    return FORMATS.summaries()


def build_page(name: str) -> str:
    """Markdown: the docstring, its underlined headings as such."""
    lines = FORMATS.page(name).splitlines()
    shown = [f"## {line}" if line in HEADINGS else line for line in lines if not line or set(line) != {"-"}]
    return "\n".join([f"# {name}", "", *shown])


# What is no data set that is read here, known by its signs: what other programs keep, archives, images without boxes.


FIRST_BYTES = 1 << 16  # of a file; labelme's holds the image itself further on
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
