"""A data set of many small files packed into few large ones: records of the TF Object Detection API, in shards.

A bucket, and many a network disk, takes as long to open a file as to read a megabyte. Images are read many at once, and a shard
is put in its place when it is whole; the label map, by which the set is known to be complete, comes last.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.example import DataSet, Example
from unstall.data.formats.tfrecord import read_image_bytes, write_record
from unstall.data.io import label_map
from unstall.data.io.writer import DataSetWriter, number_labels
from unstall.data.tools.convert import ConversionResult, find_whole_folder, refuse_taken
from unstall.storage.bucket import read_ahead
from unstall.storage.bucket_path import is_in_bucket

SHARD_BYTES = 128 * 2**20  # large enough that opening it costs nothing, small enough that many can be read side by side
SAMPLED = 64  # images whose sizes say how many make a shard
READ_AT_ONCE = 16
LABELS = "label_map.pbtxt"


@dataclass(frozen=True)
class PackResult:
    written: ConversionResult
    shards: int
    bytes: int

    def as_plain(self) -> dict[str, Any]:
        return {**self.written.as_plain(), "shards": self.shards, "bytes": self.bytes}


def pack(
    source: Path,
    target: Path,
    shard_bytes: int = SHARD_BYTES,
    format: str | None = None,
    labels: Path | None = None,
    progress: Progress | None = None,
) -> PackResult:
    refuse_taken(target)
    data = formats.read(source, format, progress, labels)
    if not data.examples:
        raise InvalidInputError(f"There is no example in '{source}': nothing to pack.")
    writing = DataSetWriter(data, target, progress=progress)
    numbers = number_labels(data)
    writing.lose_changed_numbers(numbers)
    size = 0
    plan = list(plan_shards(data, shard_bytes))
    with _place(target) as place:
        names = {id(example): str(name) for example, name in writing.examples()}
        for shard, examples in plan:
            raw = _shard(examples, names, writing, numbers)
            (place / shard).write_bytes(raw)
            size += len(raw)
        label_map.write(place / LABELS, data.classes, numbers)
    return PackResult(ConversionResult(data, "tfrecord", target, dict(writing.lost)), len(plan), size)


def plan_shards(data: DataSet, shard_bytes: int) -> Iterator[tuple[str, list[Example]]]:
    """The name of each shard and what it holds. How many there are is in every name, so that a missing one is noticed."""
    for split, rows in data.splits().items():
        examples = [data.examples[row] for row in rows]
        each = max(1, int(shard_bytes / _mean_bytes(examples)))
        named = re.sub(r"[^\w.-]", "_", split) or "data"
        count = -(-len(examples) // each)
        for number in range(count):
            yield f"{named}-{number:05d}-of-{count:05d}.record", examples[number * each : (number + 1) * each]


def _mean_bytes(examples: Sequence[Example]) -> float:
    step = max(1, len(examples) // SAMPLED)
    sizes = [len(raw) for raw in read_ahead(read_image_bytes, examples[::step][:SAMPLED], READ_AT_ONCE) if raw]
    return sum(sizes) / len(sizes) if sizes else 1.0


def _shard(examples: Sequence[Example], names: dict[int, str], writing: DataSetWriter, numbers: list[int]) -> bytes:
    out = io.BytesIO()
    for example, image in zip(examples, read_ahead(read_image_bytes, examples, READ_AT_ONCE), strict=True):
        write_record(out, writing, example, names[id(example)], image, numbers)
    return out.getvalue()


@contextmanager
def _place(target: Path) -> Iterator[Path]:
    """Where shards are written to: a folder that gets its name when all is there; in a bucket, the place itself."""
    if is_in_bucket(target):
        yield target
        return
    with find_whole_folder(target) as aside:
        yield aside
