"""One image with its boxes, and a set of them: what every format gives and everything else takes.

Boxes are (left, top, right, bottom) in pixels of the image as it is stored, edges between pixels: a box that covers the whole
of a 640×480 image is (0, 0, 640, 480). Nothing is put right while reading: an inverted box stays inverted, so that it can
be found, named and mended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from unstall.storage.bucket_path import BucketPath

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

UNKNOWN_CLASS = -1


@dataclass(frozen=True, slots=True)
class Origin:
    """Where something stands in the files of a data set, for a person to find it."""

    file: str
    line: int | None = None  # from 1
    field: str = ""  # as in 'annotations[17].bbox' or 'image/object/bbox/xmin'

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.field}" if self.field else place


@dataclass(frozen=True, slots=True)
class ImageSource:
    """The bytes of an encoded image: a file, or a stretch of one (a record)."""

    path: Path
    offset: int = 0
    length: int | None = None  # None: to the end of the file

    def read(self) -> bytes:
        if isinstance(self.path, BucketPath):
            return self.path.read_range(*self.range)
        with self.path.open("rb") as file:
            file.seek(self.offset)
            return file.read() if self.length is None else file.read(self.length)

    @property
    def range(self) -> tuple[int, int | None]:
        """From where to where in the file; None: to its end."""
        return self.offset, None if self.length is None else self.offset + self.length


def create_no_boxes() -> Floats:
    return np.zeros((0, 4), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One image and what is marked in it. The arrays have one row for each box, in the order of the file."""

    name: str  # unique in its data set; the image's path as the annotation gives it, or the record's own name
    image: ImageSource | None  # None: the annotation's image is not there
    width: int | None  # as the annotation says, or as the image's header says where the annotation says nothing
    height: int | None
    boxes: Floats  # (n, 4)
    classes: Integers  # (n,) index into DataSet.classes; UNKNOWN_CLASS where the file names none that is known
    crowd: Flags
    difficult: Flags
    truncated: Flags
    origin: Origin  # of the annotation; its field may be 'images[5]: annotations[{}].bbox', {} standing for a box's line
    box_lines: Integers | None = None  # (n,) line or index of each box in the annotation, where the format has one
    split: str = ""  # 'train', 'val', 'test' or as the data set has it; empty where it has none
    is_normalised: bool = False  # the boxes are shares of a size that is not known: the image could not be read
    size_is_from_image: bool = False  # the annotation says no size
    # (n,) whether the annotation has the object's outline, its keypoints: not read, but a copy in the same format carries them.
    outlines: Flags | None = None
    keypoints: Flags | None = None
    areas: Floats | None = None  # (n,) of each object where the annotation says it, else NaN: what COCO's figures go by

    @property
    def count(self) -> int:
        return len(self.boxes)


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: which, where, what was expected and what came."""

    problem: str  # a file of data/problems
    message: str
    origin: Origin
    example: str = ""  # name of the example; empty for the data set as a whole
    box: int | None = None  # row in the example's boxes


@dataclass(frozen=True, slots=True)
class DataSet:
    """All examples of a folder or file, and what was found wrong while reading it."""

    path: Path
    format: str  # a file of data/formats
    classes: tuple[str, ...]
    class_numbers: tuple[int, ...]  # what the format itself calls each class: COCO's category id, the label map's id
    examples: Sequence[Example]
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = field(default=())  # read besides the images: label maps, split files
    root: Path | None = None  # what files and origins are relative to; the path itself where nothing else is said

    @property
    def box_count(self) -> int:
        return sum(example.count for example in self.examples)

    def splits(self) -> dict[str, list[int]]:
        """Rows of each split, in the order of the examples."""
        found: dict[str, list[int]] = {}
        for row, example in enumerate(self.examples):
            found.setdefault(example.split, []).append(row)
        return found
