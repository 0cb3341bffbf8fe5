"""What the problems are examined on: a data set, its boxes as one table, and what the images themselves say."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from unstall.data.example import DataSet, Example, Finding, Flags, Floats, Integers, Origin

if TYPE_CHECKING:
    from unstall.data.check.box_fit import BoxFit


class Severity(enum.Enum):
    """How much a defect matters. Only ERROR makes `unstall data check` end with 1."""

    ERROR = "error"  # stops a run, gives a NaN, or is left out in silence
    WARNING = "warning"  # the training runs, and learns something wrong or less
    INFO = "info"  # worth knowing; rightly there in many data sets


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What the bytes of one image say. `error` is empty for an image that decodes whole."""

    bytes: int
    kind: str  # by its first bytes: 'jpeg', 'png', 'gif', 'bmp', 'webp', 'tiff' …; empty: none that is known
    width: int = 0  # as stored, before any EXIF turn
    height: int = 0
    mode: str = ""  # 'RGB', 'L', 'CMYK', 'RGBA', 'P', 'I;16' …
    bits: int = 8  # of each channel
    orientation: int = 1  # EXIF
    error: str = ""
    is_empty: bool = False  # 0 bytes
    is_truncated: bool = False  # it is cut off or damaged inside: a part of it decodes
    is_refused: bool = False  # too large to be decoded safely
    lacks_end_mark: bool = False  # a JPEG with all of its lines: Pillow refuses it, others read it whole
    likeness: int | None = None  # a 64-bit difference hash: near-identical images differ in few bits


@dataclass(frozen=True)
class Table:
    """Every box of a data set as columns. `row` is the example's, `box` the row within it."""

    row: Integers
    box: Integers
    boxes: Floats
    classes: Integers
    crowd: Flags
    difficult: Flags
    width: Floats  # of the box's image: of the image itself where it was read, else as annotated; NaN where unknown
    height: Floats


@dataclass(frozen=True)
class CheckedData:
    data: DataSet
    images: Mapping[int, ImageFacts]  # by row; empty where images were not looked at

    @cached_property
    def table(self) -> Table:
        examples = self.data.examples
        counts = np.array([example.count for example in examples], np.int64)
        row = np.repeat(np.arange(len(examples), dtype=np.int32), counts)
        starts = np.cumsum(counts) - counts
        sizes = np.array([self.size(index) or (np.nan, np.nan) for index in range(len(examples))], np.float64).reshape(-1, 2)
        return Table(
            row=row,
            box=(np.arange(int(counts.sum())) - np.repeat(starts, counts)).astype(np.int32),
            boxes=_joined([example.boxes for example in examples], (0, 4), np.float64),
            classes=_joined([example.classes for example in examples], (0,), np.int32),
            crowd=_joined([example.crowd for example in examples], (0,), np.bool_),
            difficult=_joined([example.difficult for example in examples], (0,), np.bool_),
            width=sizes[row, 0],
            height=sizes[row, 1],
        )

    @cached_property
    def fits(self) -> BoxFit:
        """Which boxes fit their images, and what would make the others fit."""
        from unstall.data.check.box_fit import judge

        return judge(self)

    @cached_property
    def rows(self) -> dict[str, int]:
        """By the name of the example."""
        return {example.name: row for row, example in enumerate(self.data.examples)}

    def own(self, problem: str) -> list[Finding]:
        """What the format reported of this kind while it read."""
        return [finding for finding in self.data.findings if finding.problem == problem]

    def size(self, row: int) -> tuple[float, float] | None:
        """Of the image itself where it was read, else as the annotation says; as EXIF turns it where the annotation does so."""
        facts, example = self.images.get(row), self.data.examples[row]
        if facts is not None and facts.width:
            turned = facts.orientation >= 5 and (example.width, example.height) == (facts.height, facts.width)
            return (float(facts.height), float(facts.width)) if turned else (float(facts.width), float(facts.height))
        return (float(example.width), float(example.height)) if example.width and example.height else None

    def get_image_size(self, index: SupportsIndex) -> str:
        """Of the image of the box in this row of the table."""
        return f"{self.table.width[index]:g}×{self.table.height[index]:g}"

    def create_box_finding(self, problem: str, index: SupportsIndex, message: str) -> Finding:
        """About the box in this row of the table."""
        example, box = self.data.examples[int(self.table.row[index])], int(self.table.box[index])
        return Finding(problem, message, find_box_origin(example, box), example.name, box)

    def create_image_finding(self, problem: str, row: int, message: str) -> Finding:
        example = self.data.examples[row]
        return Finding(problem, message, find_image_origin(example), example.name)


def find_image_origin(example: Example) -> Origin:
    """Of the annotation as a whole, where `origin.field` has the place of a box: 'images[5]: annotations[{}].bbox'."""
    origin = example.origin
    return Origin(origin.file, origin.line, origin.field.rpartition(": ")[0]) if "{}" in origin.field else origin


def find_box_origin(example: Example, box: int) -> Origin:
    origin = example.origin
    if example.box_lines is None:
        return Origin(origin.file, origin.line, origin.field or f"box {box + 1}")
    number = int(example.box_lines[box])
    return Origin(origin.file, None, origin.field.format(number)) if "{}" in origin.field else Origin(origin.file, number)


def _joined(parts: list[np.ndarray], empty: tuple[int, ...], kind: type) -> np.ndarray:
    return np.concatenate(parts) if parts else np.zeros(empty, kind)


def format_box(box: Floats) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in box) + ")"
