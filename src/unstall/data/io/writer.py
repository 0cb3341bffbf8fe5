"""What the writers of all formats share: safe names, images copied or linked, and the count of what could not be held."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from unstall.base.console import Progress, with_progress
from unstall.data.example import DataSet, Example, Flags, ImageSource
from unstall.data.io.images import read_header
from unstall.data.io.reader import IMAGE_SUFFIXES
from unstall.storage.bucket_path import is_in_bucket

MAX_NAME_CHARACTERS = 120  # of one part of a path: at most 255 bytes fit, and four bytes make a character
SUFFIXES = {"jpeg": ".jpg", "png": ".png", "gif": ".gif", "bmp": ".bmp", "webp": ".webp", "tiff": ".tif"}
# No part of a name in any format or file system: controls, what Windows refuses, half a character.
UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\\ud800-\udfff]')


@dataclass
class DataSetWriter:
    """One data set on its way to a folder."""

    data: DataSet
    path: Path
    link: bool = False  # hard links instead of copies, where the file system allows it
    progress: Progress | None = None
    holds_outlines: bool = False  # and keypoints
    lost: Counter[str] = field(default_factory=Counter)  # what the format cannot hold: how many
    _made: set[Path] = field(default_factory=set)  # folders

    def lose(self, what: str, count: int = 1) -> None:
        if count:
            self.lost[what] += count

    def lose_changed_numbers(self, numbers: Iterable[int]) -> None:
        """Classes that the format numbers otherwise than the data set did. To count from 0 or from 1 says nothing."""
        own = self.data.class_numbers
        if own not in {tuple(range(len(own))), tuple(range(1, len(own) + 1))}:
            changed = [old for old, new in zip(own, numbers, strict=True) if old != new]
            self.lose("numbers of classes (the classes are kept)", len(changed))

    def examples(self, is_flat: bool = False) -> Iterator[tuple[Example, PurePosixPath]]:
        """Each with the path that its image shall have: unique in its split, even without its ending and its case.

        Flat: without folders, and unique in the whole data set.
        """
        taken: set[str] = set()
        counts: Counter[PurePosixPath] = Counter()
        for example in with_progress(self.data.examples, "writing", self.progress):
            wanted = clean_path(example)
            if is_flat:
                wanted = PurePosixPath("_".join(wanted.parts))
            given = wanted
            scope = "" if is_flat else example.split
            while (key := f"{scope}/{given.with_suffix('')}".lower()) in taken:
                counts[wanted] += 1
                given = wanted.with_name(f"{wanted.stem}_{counts[wanted] + 1}{wanted.suffix}")
            taken.add(key)
            yield example, given

    def make_folder(self, path: Path) -> None:
        if path not in self._made:
            path.mkdir(parents=True, exist_ok=True)
            self._made.add(path)

    def place_image(self, source: ImageSource, target: Path) -> bool:
        """Whether it is there now. An image that cannot be read is lost; a disk that cannot be written to is an error."""
        self.make_folder(target.parent)
        try:
            in_bucket = source.read() if is_in_bucket(source.path) else None
            if in_bucket is None:
                source.path.open("rb").close()
        except OSError:
            self.lose("images that could not be read")
            return False
        if in_bucket is not None or source.length is not None or source.offset:
            target.write_bytes(source.read() if in_bucket is None else in_bucket)
        elif not (self.link and _linked(source.path, target)):
            shutil.copyfile(source.path, target)
        return True

    def select_holdable(self, example: Example) -> Flags:
        """Which boxes have a class and finite numbers in pixels; the others are counted as lost."""
        known = example.classes >= 0
        finite = np.isfinite(example.boxes).all(axis=1) if example.count else np.zeros(0, np.bool_)
        if example.is_normalised:
            self.lose("boxes in shares of an image whose size is unknown", example.count)
            return np.zeros(example.count, np.bool_)
        self.lose("boxes without a known class", int((~known).sum()))
        self.lose("boxes with numbers that are not finite", int((known & ~finite).sum()))
        kept: Flags = known & finite
        if not self.holds_outlines:
            self.report_further_losses(example, kept)
        return kept

    def report_further_losses(self, example: Example, boxes: Flags, why: str = "") -> None:
        """What these boxes have besides: outlines, keypoints."""
        for what, has in (("outlines of objects", example.outlines), ("keypoints of objects", example.keypoints)):
            self.lose(what + why, int((has & boxes).sum()) if has is not None else 0)


def _linked(source: Path, target: Path) -> bool:
    try:
        os.link(source.resolve(), target)
    except OSError:  # another file system, or one without links
        return False
    return True


def clean_path(example: Example) -> PurePosixPath:
    """The example's name as a path that stays inside a folder, with the ending of its image."""
    parts = [part for part in example.name.replace("\\", "/").split("/") if part not in {"", ".", ".."}]
    parts = [UNSAFE.sub("_", part)[-MAX_NAME_CHARACTERS:] for part in parts[-8:]] or ["image"]
    path = PurePosixPath(*parts)
    if path.suffix.lower() in IMAGE_SUFFIXES and path.stem not in {".", ".."}:
        return path
    kind = read_header(example.image).kind if example.image else ""
    return path.with_name(path.name + SUFFIXES.get(kind, ".jpg"))


def read_image_size(example: Example) -> tuple[int, int] | None:
    """As the image itself says, else as its annotation does. For formats whose readers take it from the image."""
    if example.image is not None:
        read = read_header(example.image)
        if read.width and read.height:
            is_seen = (example.width, example.height) == read.seen_size
            return read.seen_size if is_seen else (read.width, read.height)
    return (example.width, example.height) if example.width and example.height else None


def get_annotated_size(example: Example) -> tuple[int, int] | None:
    """As the annotation says, else as the image itself does."""
    return (example.width, example.height) if example.width and example.height else read_image_size(example)


def number_labels(data: DataSet) -> list[int]:
    """Numbers from 1 for each class: the data set's own where they are that, and each once; else 1, 2, 3 …"""
    own = list(data.class_numbers)
    return own if len(set(own)) == len(own) and min(own, default=1) >= 1 else list(range(1, len(own) + 1))


def tidy(value: float) -> str:
    """The shortest text that reads back as the same number; without '.0' where it is whole."""
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
