"""One change that puts a defect right. A problem proposes it, `corrected_copy.py` carries it out on a copy."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from unstall.data.check.context import CheckedData
from unstall.data.example import UNKNOWN_CLASS, Finding, Floats
from unstall.data.io import images
from unstall.data.io.images import find_exif


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


# Images encoded anew for a mended copy: in RGB, in 8 bits, upright. PNG stays PNG; all else becomes a JPEG of quality 95.


QUALITY = 95
_ORIENTATION = 0x0112
_ON_SIDE = 5  # EXIF orientations from here on change width and height


def as_rgb(checked: CheckedData, found: Iterable[Finding], what: str) -> list[Fix]:
    return [_reencode(checked, finding, _opened(checked, finding).convert("RGB"), what) for finding in found]


def as_8_bit(checked: CheckedData, found: Iterable[Finding]) -> list[Fix]:
    result = []
    for finding in found:
        image = _opened(checked, finding)
        if image.mode.startswith("I"):  # Pillow reads 16 bits of grey as they are, and has made 8 of colours already
            image = _from_array((np.asarray(image).astype(np.uint32) >> 8).clip(0, 255).astype(np.uint8))
        result.append(_reencode(checked, finding, image, "converted from 16 to 8 bits: the high byte is kept"))
    return result


def turn_upright(checked: CheckedData, finding: Finding, row: int) -> Fix:
    """The image turned as its EXIF says, and the note dropped: the boxes belong to this one."""
    from PIL import ImageOps

    image = ImageOps.exif_transpose(_opened(checked, finding))
    fix = _reencode(checked, finding, image, "the image itself is turned, and the note in its EXIF dropped: its boxes fit that")
    facts = checked.images[row]
    size = (facts.height, facts.width) if facts.orientation >= _ON_SIDE else (facts.width, facts.height)
    return Fix(finding, fix.what, row, image=fix.image, name=fix.name, size=size)


def remove_turn(checked: CheckedData, finding: Finding, row: int) -> Fix | None:
    """The note dropped and the image left as it is, to the byte where it is a JPEG: the boxes belong to that."""
    source = checked.data.examples[row].image
    data = source.read() if source is not None else b""
    what = "the note in its EXIF is dropped and the image left as it is stored: its boxes fit that"
    part = find_exif(data)
    if checked.images[row].kind == "jpeg" and part is not None:
        return Fix(finding, what, row, image=data[: part[0]] + data[part[1] :])
    return _reencode(checked, finding, _opened(checked, finding), what)


def with_end_mark(checked: CheckedData, found: Iterable[Finding]) -> list[Fix]:
    """The same bytes, and the mark."""
    what = "the end mark FF D9 is added"
    return [Fix(finding, what, checked.rows[finding.example], image=_whole_bytes(checked, finding)) for finding in found]


def _opened(checked: CheckedData, finding: Finding) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(_whole_bytes(checked, finding)))


def _whole_bytes(checked: CheckedData, finding: Finding) -> bytes:
    """With the end mark, where that alone was missing: Pillow refuses such a JPEG."""
    row = checked.rows[finding.example]
    source = checked.data.examples[row].image
    assert source is not None, "an image that was looked at is there"
    data = source.read()
    return (images.with_end_mark(data) or data) if checked.images[row].lacks_end_mark else data


def _from_array(array: Any) -> Any:
    from PIL import Image

    return Image.fromarray(array)


def _reencode(checked: CheckedData, finding: Finding, image: Any, what: str) -> Fix:
    row = checked.rows[finding.example]
    out = io.BytesIO()
    stays_png = checked.images[row].kind in {"png", "tiff"}
    if stays_png:
        _without_notes(image).save(out, "PNG")
    else:
        _without_notes(image.convert("RGB") if image.mode not in {"RGB", "L"} else image).save(
            out, "JPEG", quality=QUALITY, subsampling=0
        )
    path = PurePosixPath(finding.example)
    suffixes = (".png",) if stays_png else (".jpg", ".jpeg")
    name = None if path.suffix.lower() in suffixes or not path.suffix else str(path.with_suffix(suffixes[0]))
    return Fix(finding, what, row, image=out.getvalue(), name=name)


def _without_notes(image: Any) -> Any:
    """Pillow carries EXIF over into what it saves; an orientation must not turn the new image again."""
    image = image.copy()
    image.info.pop("exif", None)
    return image
