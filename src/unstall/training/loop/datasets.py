"""What is learned from and what it is scored on, as the settings say: a data set of one's own, or the embedded shapes."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.base.files import get_cache_dir
from unstall.base.formatting import format_count, format_some
from unstall.config.settings import Settings
from unstall.data import formats
from unstall.data.example import DataSet, Example
from unstall.data.tools.split import divide, select_split
from unstall.journal import provenance
from unstall.sensors import filesystem
from unstall.storage.bucket_path import BucketPath

TRAIN, VALIDATION, TEST = "train", "val", "test"
SHAPES_VERSION = 1  # rises when the embedded pictures are drawn otherwise
SHAPES_SEED = 0  # of the pictures: the seed of a run changes how they are learned, not what they are


@dataclass(frozen=True)
class TrainValData:
    train: DataSet
    validation: DataSet | None  # None: nothing is scored
    remark: str  # where the validation data came from

    @property
    def classes(self) -> tuple[str, ...]:
        return self.train.classes


def load_datasets(settings: Settings, image_size: Sequence[int], aside: Path, progress: Progress | None = None) -> TrainValData:
    """`image_size` is the size of the shapes, height and width. They are drawn `aside` if the user's cache cannot be written."""
    if settings.data is None:
        data = create_shapes(settings.synthetic_images, image_size, aside, progress)
    else:
        data = formats.read(settings.data, settings.format, progress, settings.label_map)
    if not data.examples:
        raise InvalidInputError(f"data: there is no example in '{data.path}'.")
    if not data.classes:
        raise InvalidInputError(f"data: '{data.path}' has no class, so there is nothing to learn.")
    validation_data = split_validation_data(data.classes, settings, progress)
    if validation_data is not None:
        return TrainValData(_learned(data), validation_data, f"scored on {settings.val_data}")
    return _divided(data, settings)


def split_validation_data(classes: Sequence[str], settings: Settings, progress: Progress | None = None) -> DataSet | None:
    """What is scored on, where it is a data set of its own."""
    if settings.val_data is None:
        return None
    validation_data = formats.read(settings.val_data, settings.format, progress, settings.label_map)
    _refuse_other_classes(classes, validation_data)
    return _scored(validation_data)


def _refuse_other_classes(classes: Sequence[str], validation_data: DataSet) -> None:
    """Classes go by their names. It would be refused when the first epoch is scored, which may be hours later."""
    own, theirs = ({name.strip().lower() for name in each} for each in (classes, validation_data.classes))
    if own and not own & theirs:
        learned, there = format_some(classes), format_some(validation_data.classes)
        raise InvalidInputError(
            f"val_data: '{validation_data.path}' has no class of those that are learned ({learned}). It has: {there}."
        )


def select_training_images(data: DataSet, settings: Settings) -> int:
    """How many of them a run with these settings learns from: divided as it will be, since a share is kept only by and large."""
    if settings.val_data is not None or not data.examples:
        return len(_learned(data).examples)
    return len(_divided(data, settings).train.examples)


def select_training_set(count: int, settings: Settings) -> int:
    """Of images that have no split to score on."""
    return count if settings.val_data is not None else round(count * (1 - settings.val_split))


def _has_own_validation(data: DataSet) -> bool:
    splits = data.splits()
    return VALIDATION in splits and set(splits) != {VALIDATION}


def _divided(data: DataSet, settings: Settings) -> TrainValData:
    if _has_own_validation(data):
        return TrainValData(_learned(data), select_split(data, VALIDATION), f"scored on the split '{VALIDATION}'")
    data = _learned(data)
    if not settings.val_split:
        return TrainValData(data, None, "not scored: val_split is 0")
    if len(data.examples) == 1:
        return TrainValData(data, None, "not scored: there is one image, which is learned from")
    shares = {TRAIN: 1 - settings.val_split, VALIDATION: settings.val_split}
    parted = divide(replace(data, examples=[replace(each, split="") for each in data.examples]), shares, settings.seed)
    validation_data = select_split(parted, VALIDATION)
    remark = (
        f"scored on {len(validation_data.examples):,} of {format_count(len(data.examples), 'image')}, which are not learned from"
    )
    return TrainValData(select_split(parted, TRAIN), validation_data, remark)


def _learned(data: DataSet) -> DataSet:
    """The split of that name; else all that is not kept for judging."""
    splits = data.splits()
    if TRAIN in splits:
        return select_split(data, TRAIN)
    examples = [example for example in data.examples if example.split not in {VALIDATION, TEST}]
    return replace(data, examples=examples or data.examples)


def _scored(data: DataSet) -> DataSet:
    """A folder may hold the whole data set, of which only a split is for this."""
    if VALIDATION in data.splits():
        return select_split(data, VALIDATION)
    if not data.examples:
        raise InvalidInputError(f"val_data: there is no example in '{data.path}'.")
    return data


# --- the embedded shapes ---


def create_shapes(count: int, image_size: Sequence[int], aside: Path, progress: Progress | None = None) -> DataSet:
    """Drawn once, and kept: a run that is resumed, and the next one, read the same files."""
    height, width = image_size
    name = f"shapes-{SHAPES_VERSION}-{count}-{width}x{height}"
    for folder in (get_cache_dir() / name, aside / name):
        if not folder.exists() and not _drawn(folder, count, width, height, progress):
            continue
        return formats.read(folder, "coco", progress)
    raise InvalidInputError(f"The embedded shapes can be written neither to '{get_cache_dir()}' nor to '{aside}'.")


def _drawn(folder: Path, count: int, width: int, height: int, progress: Progress | None) -> bool:
    """Whole or not at all; two runs may do it at the same time."""
    from unstall.data.synthetic.shapes import Shapes, write_shapes

    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        write_shapes(unfinished, Shapes(count, width, height, SHAPES_SEED), "coco", splits={}, progress=progress)
        unfinished.rename(folder)
    except (OSError, InvalidInputError):  # it cannot be written, or another run was quicker
        return folder.exists()
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return True


# The fingerprint of the data set that a training reads: sizes of images, boxes in each, what tells it from another.


def compute_fingerprint(data: DataSet) -> dict[str, Any]:
    examples = data.examples
    sized = [(each.name, int(each.width), int(each.height)) for each in examples if each.width and each.height]
    files = {each.image.path for each in examples if each.image is not None}
    counts: dict[str, int] = {}
    for each in examples:
        for number in each.classes.tolist():
            name = data.classes[number] if 0 <= number < len(data.classes) else "unknown"
            counts[name] = counts.get(name, 0) + 1
    return {
        "folder": str(data.path),
        "format": data.format,
        "files": len(files),
        "bytes": _bytes_of(files),
        "examples": len(examples),
        "classes": dict(sorted(counts.items(), key=lambda pair: -pair[1])[:100]),
        "image_px": provenance.summarize_images([(width, height) for _, width, height in sized]),
        "largest": provenance.list_largest_images(sized),
        "boxes_per_image": provenance.summarize_counts([each.count for each in examples]),
        "digest": provenance.compute_digest(f"{each.name}\0{each.width}\0{each.height}" for each in examples),
        "labels_digest": provenance.compute_digest(_labels(each) for each in examples),
        "storage": filesystem.find_filesystem(data.path),
        "is_whole": True,
    }


def _labels(example: Example) -> str:
    """What is marked in it, as one text."""
    total = hashlib.sha256(example.boxes.round(3).tobytes() + example.classes.tobytes())
    return f"{example.name}\0{total.hexdigest()}"


def _bytes_of(files: set[Path]) -> int:
    """Of files in a bucket by listing their folders: to ask for each would take as long as the way there, each time."""
    in_buckets = {path for path in files if isinstance(path, BucketPath)}
    on_disks = sum(_size(path) for path in files - in_buckets)
    keys = {path.key for path in in_buckets}
    listed = [entry for folder in {path.parent for path in in_buckets} for entry in folder.listed() or []]
    return on_disks + sum(entry.size for entry in listed if entry.key in keys)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
