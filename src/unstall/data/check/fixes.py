"""One change that puts a defect right. A problem proposes it, `corrected_copy.py` carries it out on a copy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unstall.data.check.context import CheckedData
from unstall.data.example import UNKNOWN_CLASS, Finding, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Fix:
    finding: Finding
    what: str  # for the list of changes: 'the corners were swapped'
    row: int | None  # of the example; None where the writing alone puts it right
    leaves_out_image: bool = False
    leaves_out_box: int | None = None
    boxes: Floats | None = None  # all boxes of the example anew
    box: tuple[int, tuple[float, float, float, float]] | None = None  # one of them anew
    size: tuple[int, int] | None = None
    image: bytes | None = None  # encoded anew
    name: str | None = None


def leave_out_images(checked: CheckedData, found: Iterable[Finding], why: str) -> list[Fix]:
    return [
        Fix(finding, f"the image is left out: {why}", checked.rows[finding.example], leaves_out_image=True)
        for finding in found
        if finding.example in checked.rows
    ]


def leave_out_without_image(checked: CheckedData, found: Iterable[Finding], why: str) -> list[Fix]:
    """Those of the findings whose image was not opened."""
    absent = {example.name for example in checked.data.examples if example.image is None}
    return leave_out_images(checked, [finding for finding in found if finding.example in absent], why)


def fix_by_writing(found: Iterable[Finding], what: str) -> list[Fix]:
    """What cannot come back in a copy that is written anew."""
    return [Fix(finding, what, None) for finding in found]


def leave_out_unknown_classes(checked: CheckedData, found: list[Finding], why: str) -> list[Fix]:
    """Every box without a known class, whichever the findings name: a reader knows the line, not always the box."""
    unknown = np.flatnonzero(checked.table.classes == UNKNOWN_CLASS)
    return leave_out_boxes(
        checked, [checked.create_box_finding(found[0].problem, index, found[0].message) for index in unknown], why
    )


def leave_out_boxes(checked: CheckedData, found: Iterable[Finding], why: str) -> list[Fix]:
    return [
        Fix(finding, f"the box is left out: {why}", checked.rows[finding.example], leaves_out_box=finding.box)
        for finding in found
        if finding.example in checked.rows and finding.box is not None
    ]


def get_box(checked: CheckedData, finding: Finding) -> Floats | None:
    """The box that a finding is about."""
    if finding.box is None or finding.example not in checked.rows:
        return None
    box: Floats = checked.data.examples[checked.rows[finding.example]].boxes[finding.box]
    return box


def clip(checked: CheckedData, found: Iterable[Finding]) -> list[Fix]:
    """Each box cut at the edges of its image."""
    result = []
    for finding in found:
        box = get_box(checked, finding)
        if box is None:
            continue
        row = checked.rows[finding.example]
        width, height = checked.size(row) or (float("inf"), float("inf"))
        left, top, right, bottom = (float(value) for value in box)
        cut = (max(left, 0.0), max(top, 0.0), min(right, width), min(bottom, height))
        if finding.box is not None and cut[0] < cut[2] and cut[1] < cut[3]:
            result.append(Fix(finding, "the box is cut at the edges of its image", row, box=(finding.box, cut)))
    return result
