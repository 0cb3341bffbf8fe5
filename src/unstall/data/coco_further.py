"""What an annotation of COCO says besides its box: the outline of the object, its keypoints. A copy carries it.

It is read again from the original when the copy is written: outlines are most of the bytes of a COCO file, and nobody else needs
them. Only where the box is what it was: an outline beside another box would be wrong.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from unstall.data.coco_json import MOST_JSON_BYTES, Annotation, Category, decode, is_something
from unstall.data.coco_outlines import NO_BOX
from unstall.data.example import Example
from unstall.data.reading import Unparsable, read_bytes

OF_AN_OBJECT = ("segmentation", "keypoints", "num_keypoints")
OF_A_CLASS = ("supercategory", "keypoints", "skeleton")
NOT_FINITE = (b"NaN", b"Infinity")  # as Python writes them: no JSON

Raws = dict[str, msgspec.Raw]


class Further:
    """Of the files of one data set, one file at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._file: str | None = None
        self._annotations: dict[int, Annotation] = {}
        self._categories: dict[str, Category] = {}

    def of_box(self, example: Example, box: int) -> Raws | None:
        """To be written beside the box; None where it is another box by now, or the file is not what it was."""
        self._open(example.origin.file)
        found = self._annotations.get(int(example.box_lines[box])) if example.box_lines is not None else None
        if found is None or not np.array_equal(_corners(found), example.boxes[box]):
            return None
        raws = _fields(found, OF_AN_OBJECT)
        return None if any(part in bytes(raw) for raw in raws.values() for part in NOT_FINITE) else raws

    def of_class(self, name: str) -> Raws:
        """Of the files that were opened up to now."""
        found = self._categories.get(name)
        return _fields(found, OF_A_CLASS) if found is not None else {}

    def _open(self, file: str) -> None:
        if file == self._file:
            return
        self._file, self._annotations = file, {}
        try:
            decoded = decode(read_bytes(self._root / file, MOST_JSON_BYTES))
        except (Unparsable, OSError):  # it was readable a moment ago: what it said is counted as lost
            return
        self._annotations = dict(zip(decoded.annotation_indexes, decoded.annotations, strict=True))
        for category in decoded.categories:
            self._categories.setdefault(category.name, category)


def _corners(annotation: Annotation) -> list[float]:
    left, top, width, height = annotation.bbox or NO_BOX
    return [left, top, left + width, top + height]


def _fields(entry: Annotation | Category, names: tuple[str, ...]) -> Raws:
    found = {name: getattr(entry, name) for name in names}
    return {name: raw for name, raw in found.items() if is_something(raw) or (name == "num_keypoints" and bytes(raw) == b"0")}
