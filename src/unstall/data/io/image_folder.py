"""Images that belong to no data set: named one by one, or all of a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from unstall.base.errors import InvalidInputError
from unstall.data.example import DataSet, Example, ImageSource, Origin, no_boxes
from unstall.data.io.reader import IMAGE_SUFFIXES
from unstall.storage import resolve_path
from unstall.storage.bucket_path import is_in_bucket

MAX_IMAGES = 1_000_000


def data_set_of(paths: Sequence[str | Path]) -> DataSet:
    """An example without boxes for each. What is in a folder is told by the endings of its files."""
    examples = [_example(path) for each in paths for path in _images(resolve_path(each))]
    if len(examples) > MAX_IMAGES:
        raise InvalidInputError(f"{len(examples):,} images; at most {MAX_IMAGES:,} are taken at once.")
    return DataSet(resolve_path(paths[0]), "images", (), (), examples)


def _images(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise InvalidInputError(
            f"'{path}': expected an image or a folder of images. There is {'something else' if path.exists() else 'nothing'}."
        )
    named = (each for each in path.rglob("*") if each.suffix.lower() in IMAGE_SUFFIXES)
    found = sorted(each for each in named if is_in_bucket(each) or each.is_file())
    if not found:
        raise InvalidInputError(f"'{path}' has no images. Looked for files that end in {', '.join(sorted(IMAGE_SUFFIXES))}.")
    yield from found


def _example(path: Path) -> Example:
    none = np.zeros(0, np.bool_)
    return Example(
        str(path), ImageSource(path), None, None, no_boxes(), np.zeros(0, np.int32), none, none, none, Origin(str(path))
    )
