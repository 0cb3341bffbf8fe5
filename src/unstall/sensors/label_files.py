"""How many boxes an image has, counted in the text of annotations without reading them as such: COCO, VOC and YOLO."""

from __future__ import annotations

import mmap
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

MAX_FILES = 4_000  # annotations of one image each
MAX_FOLDERS = 24
LABEL_FOLDERS = {"images": ("labels", "annotations"), "jpegimages": ("Annotations",), "imgs": ("labels",)}
LARGEST_JSON_BYTES = 2**29
LARGEST_LABEL_BYTES = 2**20
FIRST_BYTES = 2**18
MIN_LINES = 20  # of a list of images or boxes
OF_RESULTS = (
    "history",
    "metric",
    "result",
    "log",
    "score",
    "summary",
    "pred",
    "output",
    "loss",
    "eval",
    "stats",
    "args",
    "requirements",
)
_IMAGE_ID = re.compile(rb'"image_id"\s*:\s*"?([^",}\s]+)')
_YOLO_LINE = re.compile(rb"\d+(\s+-?\d*\.?\d+(e-?\d+)?){4,}\s*", re.IGNORECASE)


def list_label_paths(images: Iterable[str]) -> Iterator[str]:
    """The annotations that lie where VOC and YOLO have them: under the image's name, in its folder or in that for labels."""
    stems: dict[str, set[str]] = {}
    for path in images:
        stems.setdefault(str(Path(path).parent), set()).add(Path(path).stem)
    for folder in list(stems)[:MAX_FOLDERS]:
        base, _, last = folder.rpartition("/")
        swapped = [f"{base}/{name}" for name in LABEL_FOLDERS.get(last.lower(), ())]
        inner = [folder.replace("/images/", "/labels/")] if "/images/" in folder else []
        for place in (folder, *swapped, *inner):
            try:
                names = sorted(os.listdir(place))  # noqa: PTH208 - names are all that is wanted of very many
            except OSError:
                continue
            for name in names:
                stem, suffix = os.path.splitext(name)  # noqa: PTH122
                if suffix.lower() in {".txt", ".xml"} and stem in stems[folder]:
                    yield f"{place}/{name}"


def count_boxes_per_image(labels: Mapping[str, int], images: int, until: float) -> list[int]:
    """One number for each image, as far as annotations tell. `images`: how many there are, those without a box included."""
    of_json = [path for path, size in labels.items() if path.lower().endswith(".json") and size <= LARGEST_JSON_BYTES]
    counts = [count for path in sorted(of_json) for count in read_coco(path)]
    if counts:
        return [*counts, *[0] * max(0, images - len(counts))]
    single = sorted(
        path for path, size in labels.items() if path.lower().endswith((".xml", ".txt")) and size <= LARGEST_LABEL_BYTES
    )
    if len(single) > MAX_FILES:
        single = single[:: -(-len(single) // MAX_FILES)]
    for path in single:
        if time.monotonic() > until:
            break
        count = count_boxes(path)
        if count is not None:
            counts.append(count)
    return counts


def read_coco(path: str) -> list[int]:
    try:
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return list(Counter(found[1] for found in _IMAGE_ID.finditer(text)).values())
    except (OSError, ValueError):  # an empty file cannot be mapped
        return []


def count_boxes(path: str) -> int | None:
    """Boxes in the annotation of one image; None where it is none."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return None
    if path.lower().endswith(".xml"):
        return data.count(b"<object>") if b"<annotation" in data else None
    lines = [line for line in data.splitlines() if line.strip()]
    return len(lines) if all(_YOLO_LINE.fullmatch(line) for line in lines) else None


def is_annotation(path: str) -> bool:
    """Whether a file says what is marked in images, by its first bytes; a file of results or settings does not."""
    try:
        with Path(path).open("rb") as file:
            first = file.read(FIRST_BYTES)
    except OSError:
        return False
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        return any(key in first for key in (b'"image_id"', b'"bbox"', b'"annotations"', b'"file_name"'))
    if suffix == ".xml":
        return b"<annotation" in first
    if suffix == ".pbtxt":
        return b"item" in first
    is_result = any(word in Path(path).stem.lower() for word in OF_RESULTS)
    return not is_result and first.count(b"\n") >= MIN_LINES
