"""Writes the embedded data set as files, in any format, with or without defects."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.base.progress import Progress
from unstall.data.example import DataSet, Example, ImageSource, Origin
from unstall.data.formats import FORMATS
from unstall.data.synthetic.shapes import Shapes, ShapesExample

QUALITY = 92
SPLITS: Mapping[str, float] = {"train": 0.8, "val": 0.2}


@dataclass
class Draft:
    """The data set before it is written: a defect may change its examples and the bytes of its images."""

    shapes: Shapes
    folder: Path
    examples: list[Example]
    classes: list[str]
    random: np.random.Generator
    taken: set[int] = field(default_factory=set)

    def a_row(self, min_boxes: int = 1, split: str | None = None) -> int:
        """One that no other defect has been given."""
        for row, example in enumerate(self.examples):
            if row not in self.taken and example.count >= min_boxes and split in {None, example.split}:
                self.taken.add(row)
                return row
        raise InvalidInputError(
            f"There are too few images for these defects: {len(self.examples)}. Ask for more: --num-images N."
        )

    def change(self, row: int, **fields: Any) -> None:
        self.examples[row] = replace(self.examples[row], **fields)

    def read(self, row: int) -> bytes:
        source = self.examples[row].image
        assert source is not None, "every example of a draft has its image"
        return source.read()

    def reencode(self, row: int, data: bytes, suffix: str = ".jpg") -> None:
        name = Path(self.examples[row].name).with_suffix(suffix).name
        path = self.folder / name
        path.write_bytes(data)
        self.change(row, image=ImageSource(path), name=name)


def assign_splits(count: int, shares: Mapping[str, float]) -> list[str]:
    """The split of each index, in stretches: the first of the shares first."""
    if not shares:
        return [""] * count
    total = sum(shares.values())
    if total <= 0 or min(shares.values()) < 0:
        raise InvalidInputError(f"Expected shares above 0 for the splits. Received: {dict(shares)}.")
    ends = np.round(np.cumsum(list(shares.values())) / total * count).astype(int)
    names = list(shares)
    return [names[int(np.searchsorted(ends, index, side="right"))] for index in range(count)]


def write_shapes(
    out: Path,
    shapes: Shapes,
    format: str = "coco",
    splits: Mapping[str, float] = SPLITS,
    defects: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, str]:
    """Each defect with the name of the example, or the file, that has been given it."""
    from unstall.data.synthetic.defects import prepare, refuse_impossible
    from unstall.data.synthetic.file_defects import spoil

    refuse_impossible(defects, format)
    module = FORMATS.module(format)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInputError(f"Expected an empty folder, or none yet. Received: '{out}', which is not empty.")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".shapes-") as scratch:
            draft = create_draft(shapes, Path(scratch), splits, progress)
            given = {defect: prepare(defect, draft) for defect in defects}
            module.write(as_data_set(draft, out, format), out, link=True, progress=progress)
    except OSError as error:
        raise InvalidInputError(f"Cannot write the data set to '{out}': {error.strerror or error}.") from None
    return {defect: spoil(defect, out, format, where, number) for number, (defect, where) in enumerate(given.items())}


def as_data_set(draft: Draft, path: Path, format: str) -> DataSet:
    numbers = tuple(range(1, len(draft.classes) + 1))
    return DataSet(path, format, tuple(draft.classes), numbers, draft.examples)


def create_draft(shapes: Shapes, folder: Path, splits: Mapping[str, float], progress: Progress | None = None) -> Draft:
    names = assign_splits(len(shapes), splits)

    def drawn(index: int) -> Example:
        return _encoded(shapes[index], folder, index, names[index])

    examples = []
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for example in pool.map(drawn, range(len(shapes))):
            examples.append(example)
            if progress is not None:
                progress("drawing", len(examples), len(shapes))
    return Draft(shapes, folder, examples, list(shapes.classes), np.random.default_rng([shapes.seed, 1 << 40]))


def _encoded(drawn: ShapesExample, folder: Path, index: int, split: str) -> Example:
    import simplejpeg

    name = f"shapes_{index:06d}.jpg"
    path = folder / name
    path.write_bytes(simplejpeg.encode_jpeg(drawn.image, quality=QUALITY, colorsubsampling="444"))
    height, width = drawn.image.shape[:2]
    no = np.zeros(len(drawn.boxes), np.bool_)
    origin = Origin(name)
    return Example(name, ImageSource(path), width, height, drawn.boxes, drawn.classes, no, no, no, origin, split=split)
