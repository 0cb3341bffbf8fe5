"""What the problems are examined on: a data set, its boxes as one table, and what the images themselves say."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import SupportsIndex

import numpy as np

from unstall.data.example import DataSet, Example, Finding, Flags, Floats, Integers, Origin


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


# Which boxes fit their images, and what would make the others fit: the one judgement that several problems rest on.
#
# A box that is shares instead of pixels, or pixels instead of shares, or has its axes swapped, lies outside its image as well.
# It must be called by one name only, the one that says how to mend it.


HOLDS_SHARES = ("yolo", "tfrecord")  # formats whose files give boxes as shares of the image
ROUNDING_PIXELS = 1.0  # a box may reach over the edge by as much: conventions differ by one pixel
ROUNDING_SHARE = 1e-3  # or by as much of the side: files round to three digits
MIN_SIDE = 8.0  # in an image smaller than this, boxes up to 1 may be pixels
SWAPPED_BOXES = 3  # so many boxes must fit only with x and y swapped …
SWAPPED_SHARE = 0.8  # … and so large a share of all that lie outside their image: else they are just outside
MAX_SHARE = 2.0  # an object may reach beyond its image; none reaches to twice its size


@dataclass(frozen=True)
class BoxFit:
    """One flag for each box of the table."""

    finite: Flags
    normalised: Flags  # shares where pixels are expected
    in_pixels: Flags  # pixels where shares are expected
    swapped: Flags  # x is y and y is x
    turned: Flags  # fits the image as EXIF turns it, and not as it is stored
    plain: Flags  # finite, of an image whose size is known, and none of the above: to be measured against its image
    slack_x: Floats
    slack_y: Floats


def judge(checked: CheckedData) -> BoxFit:
    table = checked.table
    finite = np.asarray(np.isfinite(table.boxes).all(axis=1))
    shares = np.array([example.is_normalised for example in checked.data.examples], bool)
    sized = np.isfinite(table.width) & (table.width > 0) & (table.height > 0)
    sized &= ~shares[table.row] if len(shares) else True
    slack_x = np.maximum(ROUNDING_PIXELS, ROUNDING_SHARE * table.width)
    slack_y = np.maximum(ROUNDING_PIXELS, ROUNDING_SHARE * table.height)
    usable = finite & sized
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        normalised, in_pixels = np.zeros_like(finite), np.zeros_like(finite)
        if checked.data.format in HOLDS_SHARES:
            in_pixels = usable & _in_pixels(table)
        else:
            normalised = usable & _normalised(table, finite, usable)
        rest = usable & ~normalised & ~in_pixels
        rest &= ~_of_another_size(checked, rest)
        turned = rest & _turned(checked, rest, slack_x, slack_y)
        swapped = rest & ~turned & _swapped(table, rest & ~turned, slack_x, slack_y)
    return BoxFit(finite, normalised, in_pixels, swapped, turned, rest & ~swapped & ~turned, slack_x, slack_y)


def select_within(boxes: Floats, width: Floats, height: Floats, slack_x: Floats, slack_y: Floats) -> Flags:
    left, top, right, bottom = boxes.T
    inside = (np.minimum(left, right) >= -slack_x) & (np.maximum(left, right) <= width + slack_x)
    inside &= (np.minimum(top, bottom) >= -slack_y) & (np.maximum(top, bottom) <= height + slack_y)
    return np.asarray(inside)


def select_rows(table: Table, flags: Flags, considered: Flags) -> Flags:
    """For each box: whether the flag is set for every box of its image that is considered, and there is one."""
    rows = int(table.row.max()) + 1 if len(table.row) else 0
    against = np.bincount(table.row[considered & ~flags], minlength=rows) == 0
    some = np.bincount(table.row[considered], minlength=rows) > 0
    return np.asarray((against & some)[table.row])


def select_any_of_rows(table: Table, flags: Flags) -> Flags:
    rows = int(table.row.max()) + 1 if len(table.row) else 0
    return np.asarray((np.bincount(table.row[flags], minlength=rows) > 0)[table.row])


def _normalised(table: Table, finite: Flags, usable: Flags) -> Flags:
    """All boxes of the image lie between 0 and 1, with fractions: in pixels they would all be in its first corner."""
    boxes = table.boxes
    small = (boxes >= -1e-3).all(axis=1) & (boxes <= 1.001).all(axis=1) & (table.width >= MIN_SIDE) & (table.height >= MIN_SIDE)
    has_area = (boxes[:, 2] != boxes[:, 0]) & (boxes[:, 3] != boxes[:, 1])
    fractional = select_any_of_rows(table, finite & (boxes != np.round(boxes)).any(axis=1))
    return np.asarray(select_rows(table, small & has_area, usable) & fractional)


def _in_pixels(table: Table) -> Flags:
    """As the file has them they reach far beyond 1, and lie in the image if they are taken for pixels."""
    raw = table.boxes / np.stack([table.width, table.height, table.width, table.height], axis=1)
    lies_inside = select_within(raw, table.width, table.height, 1 + 0.01 * table.width, 1 + 0.01 * table.height)
    return np.asarray((raw > MAX_SHARE).any(axis=1) & lies_inside)


def _of_another_size(checked: CheckedData, usable: Flags) -> Flags:
    """The annotation gives another size than the image has, and the boxes fit that: they are not outside, the size is wrong."""
    table, examples = checked.table, checked.data.examples
    said = np.full((len(examples), 2), np.nan)
    for row, facts in checked.images.items():
        example = examples[row]
        if facts.width and example.width and example.height and not example.size_is_from_image:
            differs = max(abs(example.width - facts.width), abs(example.height - facts.height)) > ROUNDING_PIXELS
            said[row] = (example.width, example.height) if differs else np.nan
    if np.isnan(said).all():
        return np.zeros_like(usable)
    width, height = said[table.row, 0], said[table.row, 1]
    slack = np.full(len(usable), ROUNDING_PIXELS)
    return np.asarray(select_rows(table, select_within(table.boxes, width, height, slack, slack), usable) & np.isfinite(width))


def _turned(checked: CheckedData, usable: Flags, slack_x: Floats, slack_y: Floats) -> Flags:
    """EXIF turns the image on its side, and its boxes fit only then. Where the annotation's size says so, the table knows."""
    table = checked.table
    on_side = np.zeros(len(checked.data.examples), bool)
    for row, facts in checked.images.items():
        if facts.orientation >= 5 and facts.width:
            on_side[row] = checked.size(row) == (float(facts.width), float(facts.height))
    if not on_side.any():
        return np.zeros_like(usable)
    considered = usable & on_side[table.row]
    misfits = considered & ~select_within(table.boxes, table.width, table.height, slack_x, slack_y)
    turned = select_within(table.boxes, table.height, table.width, slack_y, slack_x)
    return select_rows(table, turned, considered) & select_any_of_rows(table, misfits) & on_side[table.row]


def _swapped(table: Table, usable: Flags, slack_x: Floats, slack_y: Floats) -> Flags:
    """All boxes of the image fit once x and y change places, and one reaches out as it stands.

    Only where enough boxes of the data set have even their middle outside, and this explains most of them.
    """
    boxes = table.boxes
    fit_if_swapped = select_within(boxes[:, [1, 0, 3, 2]], table.width, table.height, slack_x, slack_y)
    across, down = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    middle_outside = (across < -slack_x) | (across > table.width + slack_x) | (down < -slack_y) | (down > table.height + slack_y)
    misfits = usable & middle_outside
    explained = int((misfits & select_rows(table, fit_if_swapped, usable)).sum())
    if explained < SWAPPED_BOXES or explained < SWAPPED_SHARE * int(misfits.sum()):
        return np.zeros_like(usable)
    reach_out = usable & ~select_within(boxes, table.width, table.height, slack_x, slack_y)
    return np.asarray(select_rows(table, fit_if_swapped, usable) & select_any_of_rows(table, reach_out))
