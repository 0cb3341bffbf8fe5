"""The box of an object of which a COCO file says only the outline: its extent, as the readers of other formats take it."""

from __future__ import annotations

import msgspec
import numpy as np

Box = tuple[float, float, float, float]  # left, top, width, height, as COCO writes it

MAX_RUNS = 10_000_000  # of a mask
MAX_PIXELS = 10_000_000_000  # of a mask, as it says
NO_BOX: Box = (float("nan"), float("nan"), float("nan"), float("nan"))


class _Mask(msgspec.Struct):
    """Runs of 0 and 1 by turns, column by column; as numbers, or as the text that COCO's own tools write."""

    size: tuple[int, int]  # height, width
    counts: list[int] | str


_outline = msgspec.json.Decoder(list[list[float]] | _Mask)


def compute_extent(segmentation: msgspec.Raw) -> Box | None:
    """None where nothing is drawn, or what is there is no outline."""
    try:
        outline = _outline.decode(segmentation)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return _of_mask(outline) if isinstance(outline, _Mask) else _of_polygons(outline)


def _of_polygons(polygons: list[list[float]]) -> Box | None:
    xs = [x for polygon in polygons for x in polygon[0::2]]
    ys = [y for polygon in polygons for y in polygon[1::2]]
    if not ys or any(len(polygon) % 2 for polygon in polygons):
        return None
    left, top = min(xs), min(ys)
    return left, top, max(xs) - left, max(ys) - top


def _of_mask(mask: _Mask) -> Box | None:
    runs = _runs(mask.counts) if isinstance(mask.counts, str) else mask.counts
    height, width = mask.size
    pixels = height * width
    if runs is None or min(height, width) < 1 or pixels > MAX_PIXELS or len(runs) > MAX_RUNS:
        return None
    if not all(0 <= run <= pixels for run in runs):
        return None
    ends = np.cumsum(np.array(runs, np.int64))
    begins, ends = ends[0:-1:2], ends[1::2]  # of the runs of ones
    begins, ends = begins[ends > begins], ends[ends > begins]
    if not len(begins) or ends[-1] > pixels:
        return None
    left, right = begins[0] // height, (ends[-1] - 1) // height + 1
    is_whole_column = begins // height != (ends - 1) // height  # it goes over the foot of a column: it has a top and a foot
    top = 0 if is_whole_column.any() else (begins % height).min()
    foot = height if is_whole_column.any() else ((ends - 1) % height).max() + 1
    return float(left), float(top), float(right - left), float(foot - top)


def _runs(text: str) -> list[int] | None:
    """Five bits a character from '0' on, the lowest first; a sixth says that more follow. From the third run on: the difference
    to the run before the last."""
    runs: list[int] = []
    value, shift = 0, 0
    for character in text.encode("utf-8", "replace"):
        bits = character - 48
        if not 0 <= bits < 64 or shift > 60:
            return None
        value |= (bits & 0x1F) << shift
        shift += 5
        if not bits & 0x20:
            value -= 1 << shift if bits & 0x10 else 0
            runs.append(value + (runs[-2] if len(runs) > 2 else 0))
            value, shift = 0, 0
    return runs if not shift else None
