"""The embedded data set: coloured shapes on textured ground, with exact boxes. Any size, any count, the same for the same seed.

Example `index` depends on the seed and the index only, not on how many there are or in what order they are asked for. A box
is the exact extent of what can be seen of a shape: shapes may hide parts of each other, and none is hidden by more than half.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet, Example, Floats, ImageSource, Integers, Origin
from unstall.data.formats import FORMATS

Image = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.uint8]
Points = npt.NDArray[np.float64]

MIN_VISIBLE = 0.5  # of each shape's area
MIN_SIDE = 0.08  # of the image's shorter side
MAX_SIDE = 0.45
TRIES = 20  # to place a shape before it is left out
COLOUR_DISTANCE = 70.0  # of a shape from the ground it lies on, in RGB


class ShapesExample(NamedTuple):
    """What a trainer takes: RGB, boxes in pixels (left, top, right, bottom), classes from 0."""

    image: Image
    boxes: Floats
    classes: Integers


@dataclass(frozen=True)
class Shapes:
    count: int
    width: int = 320
    height: int = 240
    seed: int = 0
    most: int = 8  # shapes in an image
    empty_share: float = 0.0  # of the images have no shape: background

    def __post_init__(self) -> None:
        from unstall.base.errors import InvalidInputError

        if self.count < 0 or self.seed < 0 or self.most < 1:
            raise InvalidInputError(
                f"Expected a count and a seed of 0 or more. Received: count {self.count}, seed {self.seed}, most {self.most}."
            )
        if not (16 <= self.width <= 16384 and 16 <= self.height <= 16384):
            raise InvalidInputError(
                f"Expected images from 16 to 16,384 pixels wide and high. Received: {self.width}×{self.height}."
            )

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(_OUTLINES)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[ShapesExample]:
        return (self[index] for index in range(self.count))

    def __getitem__(self, index: int) -> ShapesExample:
        if not 0 <= index < self.count:
            raise IndexError(f"Expected an index from 0 to {self.count - 1}. Received: {index}.")
        return self._draw(np.random.default_rng([self.seed, index]))

    def _draw(self, random: np.random.Generator) -> ShapesExample:
        image = _ground(random, self.width, self.height)
        wanted = 0 if random.random() < self.empty_share else int(random.integers(1, self.most + 1))
        owner = np.zeros((self.height, self.width), np.int32)  # which shape each pixel shows; 0: none
        areas: list[int] = []
        classes: list[int] = []
        for _ in range(wanted):
            number = int(random.integers(len(_OUTLINES)))
            mask = self._placed(random, number, owner, areas)
            if mask is None:
                continue
            classes.append(number)
            areas.append(int(np.count_nonzero(mask)))
            owner[mask > 0] = len(classes)
            _paint(random, image, mask)
        return ShapesExample(image, _extents(owner, len(classes)), np.array(classes, np.int32))

    def _placed(self, random: np.random.Generator, number: int, owner: Integers, areas: list[int]) -> Mask | None:
        """A mask that leaves enough of every shape below it to be seen, and lies whole in the image."""
        shorter = min(self.width, self.height)
        for _ in range(TRIES):
            side = shorter * np.exp(random.uniform(np.log(MIN_SIDE), np.log(MAX_SIDE)))
            stretch = np.exp(random.uniform(-0.35, 0.35))
            half = side / 2 * np.array([stretch, 1 / stretch])
            centre = random.uniform(half * 0.9, np.array([self.width, self.height]) - half * 0.9)  # the edge may cut a little
            mask = np.zeros((self.height, self.width), np.uint8)
            for outline, filling in list(_OUTLINES.values())[number](random):
                cv2.fillPoly(mask, [np.round(outline * half + centre).astype(np.int32)], filling)
            own = int(np.count_nonzero(mask))
            if own < 9:
                continue
            seen = np.bincount(owner[mask == 0], minlength=len(areas) + 1)[1:] if areas and owner[mask > 0].any() else areas
            if all(visible >= MIN_VISIBLE * area for visible, area in zip(seen, areas, strict=True)):
                return mask
        return None


def _extents(owner: Integers, count: int) -> Floats:
    """The exact box of what is seen of each shape. Edges lie between pixels: one past the last."""
    boxes = np.zeros((count, 4), np.float64)
    for number in range(1, count + 1):
        seen = owner == number
        across, down = np.flatnonzero(seen.any(axis=0)), np.flatnonzero(seen.any(axis=1))
        boxes[number - 1] = (across[0], down[0], across[-1] + 1, down[-1] + 1)
    return boxes


def _ground(random: np.random.Generator, width: int, height: int) -> Image:
    """Clouds of colour with grain: nothing flat that a detector could tell by its evenness."""
    coarse = random.uniform(0, 255, (int(random.integers(2, 6)), int(random.integers(2, 6)), 3)).astype(np.float32)
    middle = random.uniform(-40, 40, (max(2, height // 24), max(2, width // 24), 3)).astype(np.float32)
    ground = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC) * 0.6 + 50
    ground += cv2.resize(middle, (width, height), interpolation=cv2.INTER_LINEAR)
    ground += random.integers(-10, 11, (height, width, 1), np.int8)
    return np.asarray(ground.clip(0, 255), np.uint8)


def _paint(random: np.random.Generator, image: Image, mask: Mask) -> None:
    """One colour that stands out from what it covers, with a little grain."""
    covered = mask > 0
    below = image[covered].mean(axis=0)
    colour = random.uniform(0, 255, 3)
    while np.linalg.norm(colour - below) < COLOUR_DISTANCE:
        colour = random.uniform(0, 255, 3)
    grain = random.integers(-8, 9, (int(np.count_nonzero(covered)), 1), np.int8)
    image[covered] = (colour + grain).clip(0, 255).astype(np.uint8)


# --- outlines: in a square from -1 to 1, each with what it fills with (0 cuts out) ---

Outline = list[tuple[Points, int]]


def _polygon(corners: int, radii: tuple[float, ...] = (1.0,), turn: float = 0.0) -> Points:
    angles = turn + np.arange(corners) * (2 * np.pi / corners)
    radius = np.resize(np.array(radii), corners)
    return np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=1)


def _circle(random: np.random.Generator) -> Outline:
    return [(_polygon(48), 1)]


def _square(random: np.random.Generator) -> Outline:
    return [(np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]]), 1)]


def _triangle(random: np.random.Generator) -> Outline:
    return [(_polygon(3, turn=random.uniform(0, 2 * np.pi)), 1)]


def _star(random: np.random.Generator) -> Outline:
    return [(_polygon(10, (1.0, 0.45), random.uniform(0, 2 * np.pi)), 1)]


def _cross(random: np.random.Generator) -> Outline:
    return [
        (np.array([[-1.0, -0.33], [1, -0.33], [1, 0.33], [-1, 0.33]]), 1),
        (np.array([[-0.33, -1.0], [0.33, -1], [0.33, 1], [-0.33, 1]]), 1),
    ]


def _ring(random: np.random.Generator) -> Outline:
    return [(_polygon(48), 1), (_polygon(48) * 0.55, 0)]


_OUTLINES: dict[str, Callable[[np.random.Generator], Outline]] = {
    "circle": _circle,
    "square": _square,
    "triangle": _triangle,
    "star": _star,
    "cross": _cross,
    "ring": _ring,
}


# Writes the embedded data set as files, in any format, with or without defects.


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
