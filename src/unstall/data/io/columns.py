"""From columns over all boxes to one example for each image: views into the columns, so that a million boxes cost little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unstall.data.example import Example, Flags, Floats, ImageSource, Integers, Origin
from unstall.data.io.images import read_header


def create_example(
    name: str,
    image: ImageSource | None,
    size: tuple[int | None, int | None],
    boxes: Sequence[Sequence[float]],
    classes: Sequence[int],
    origin: Origin,
    crowd: Sequence[bool] = (),
    difficult: Sequence[bool] = (),
    truncated: Sequence[bool] = (),
    box_lines: Sequence[int] | None = None,
    split: str = "",
    is_normalised: bool = False,
    size_is_from_image: bool = False,
) -> Example:
    """One example from plain lists. Flags that are not given are false."""
    count = len(boxes)
    return Example(
        name=name,
        image=image,
        width=size[0],
        height=size[1],
        boxes=np.array(boxes, np.float64).reshape(count, 4),
        classes=np.array(classes, np.int32),
        crowd=_flags(crowd, count),
        difficult=_flags(difficult, count),
        truncated=_flags(truncated, count),
        origin=origin,
        box_lines=None if box_lines is None else np.array(box_lines, np.int32),
        split=split,
        is_normalised=is_normalised,
        size_is_from_image=size_is_from_image,
    )


def _flags(values: Sequence[bool], count: int) -> Flags:
    return np.array(values, np.bool_) if len(values) else np.zeros(count, np.bool_)


class Columns:
    """Boxes in the order of the file, each with the row of its image; grouped by image, the order of the file kept within."""

    def __init__(
        self, row: Integers, boxes: Floats, classes: Integers, flags: tuple[Flags, Flags, Flags], lines: Integers, rows: int,
        areas: Floats | None = None, outlines: Flags | None = None, keypoints: Flags | None = None,
    ) -> None:  # fmt: skip
        order = np.argsort(row, kind="stable")
        self._starts = np.searchsorted(row[order], np.arange(rows + 1))
        self._boxes, self._classes, self._lines = boxes[order], classes[order], lines[order]
        self._crowd, self._difficult, self._truncated = (column[order] for column in flags)
        self._areas = None if areas is None else areas[order]
        self._outlines = None if outlines is None else outlines[order]
        self._keypoints = None if keypoints is None else keypoints[order]

    def example(
        self, index: int, name: str, image: ImageSource | None, size: tuple[int | None, int | None], origin: Origin, split: str
    ) -> Example:
        part = slice(int(self._starts[index]), int(self._starts[index + 1]))
        return Example(
            name=name,
            image=image,
            width=size[0],
            height=size[1],
            boxes=self._boxes[part],
            classes=self._classes[part],
            crowd=self._crowd[part],
            difficult=self._difficult[part],
            truncated=self._truncated[part],
            origin=origin,
            box_lines=self._lines[part],
            split=split,
            outlines=None if self._outlines is None else self._outlines[part],
            keypoints=None if self._keypoints is None else self._keypoints[part],
            areas=None if self._areas is None else self._areas[part],
        )


def with_header_size(example: Example, source: ImageSource) -> Example:
    """With the size that the image itself has, for an annotation that says none."""
    read = read_header(source)
    if not (read.width and read.height):
        return example
    return replace(example, width=read.width, height=read.height, size_is_from_image=True)
