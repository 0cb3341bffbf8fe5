"""Builds data sets for the tests of the problems: by hand, in memory, or as real files with a defect."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from unstall.data.check.context import CheckedData, ImageFacts
from unstall.data.check.images import look_at_all
from unstall.data.check.problems import PROBLEMS
from unstall.data.check.runner import Report, check
from unstall.data.example import DataSet, Example, Finding, ImageSource, Origin
from unstall.data.formats import read
from unstall.data.synthetic.shapes import Shapes, ShapesExample, write_shapes

Box = Sequence[float]


def example(*boxes: Box, size: tuple[int, int] | None = (640, 480), name: str = "a.jpg", **fields: Any) -> Example:
    count = len(boxes)
    flags = {flag: np.array(fields.pop(flag, [False] * count), bool) for flag in ("crowd", "difficult", "truncated")}
    return Example(
        name=name,
        image=fields.pop("image", None),
        width=size[0] if size else None,
        height=size[1] if size else None,
        boxes=np.array(boxes, np.float64).reshape(-1, 4),
        classes=np.array(fields.pop("classes", [0] * count), np.int32),
        origin=Origin(f"{name}.xml"),
        **flags,
        **fields,
    )


def checked(
    *examples: Example,
    images: Mapping[int, ImageFacts] | None = None,
    format: str = "coco",
    classes: Sequence[str] = ("cat",),
    findings: Sequence[Finding] = (),
) -> CheckedData:
    numbers = tuple(range(1, len(classes) + 1))
    return CheckedData(DataSet(Path("set"), format, tuple(classes), numbers, examples, tuple(findings)), images or {})


def found(problem: str, what: CheckedData) -> list[Finding]:
    result: list[Finding] = PROBLEMS.module(problem).examine(what)
    assert all(finding.problem == problem and finding.message for finding in result)
    return result


def boxes_found(problem: str, what: CheckedData) -> list[tuple[str, int | None]]:
    return [(finding.example, finding.box) for finding in found(problem, what)]


def facts(**fields: Any) -> ImageFacts:
    return ImageFacts(**{"bytes": 1000, "kind": "jpeg", "width": 640, "height": 480, "mode": "RGB"} | fields)


def seen(folder: Path, *images: bytes, names: Sequence[str] = (), **fields: Any) -> CheckedData:
    """Real images, really looked at, each with one box in its middle."""
    examples = []
    for number, data in enumerate(images):
        name = names[number] if names else f"{number}.jpg"
        (folder / name).write_bytes(data)
        examples.append(example((2, 2, 12, 12), size=None, name=name, image=ImageSource(folder / name), **fields))
    return checked(*examples, images=look_at_all(examples))


def photo(seed: int = 0, size: tuple[int, int] = (64, 48), mode: str = "RGB", kind: str = "JPEG", **how: Any) -> bytes:
    """A drawn image, encoded."""
    drawn = Image.fromarray(Shapes(1, *size, seed=seed)[0].image).convert(mode)
    out = io.BytesIO()
    drawn.save(out, kind, **how)
    return out.getvalue()


class DrawnOnce(Shapes):
    """The same pictures for hundreds of data sets: to draw them takes longer than to write, read and check them."""

    def __getitem__(self, index: int) -> ShapesExample:
        return deepcopy(_drawn(self, index))  # a defect may change it


@cache
def _drawn(shapes: Shapes, index: int) -> ShapesExample:
    return Shapes.__getitem__(shapes, index)


def spoiled(folder: Path, defect: str, format: str = "coco", **shapes: Any) -> Report:
    """The embedded data set with a defect, written, read and checked."""
    sizes = {"count": 30, "width": 160, "height": 120} | shapes
    write_shapes(folder / "set", DrawnOnce(**sizes), format, defects=[defect])
    return check(read(folder / "set", format))


def healthy(folder: Path, format: str = "coco", **shapes: Any) -> Report:
    sizes = {"count": 30, "width": 160, "height": 120} | shapes
    write_shapes(folder / "set", DrawnOnce(**sizes), format)
    return check(read(folder / "set", format))
