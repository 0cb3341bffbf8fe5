"""Which boxes fit their images, and what would make the others fit: the one judgement that several problems rest on.

A box that is shares instead of pixels, or pixels instead of shares, or has its axes swapped, lies outside its image as well.
It must be called by one name only, the one that says how to mend it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unstall.data.check.context import CheckedData, Table
from unstall.data.example import Flags, Floats

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
