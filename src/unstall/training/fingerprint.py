"""The fingerprint of the data set that a training reads: sizes of images, boxes in each, what tells it from another."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from unstall.compare import fingerprint
from unstall.data.example import DataSet, Example
from unstall.signals import storage
from unstall.storage.bucket_path import BucketPath


def fingerprint_of(data: DataSet) -> dict[str, Any]:
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
        "image_px": fingerprint.of_images([(width, height) for _, width, height in sized]),
        "largest": fingerprint.largest_images(sized),
        "boxes_per_image": fingerprint.of_counts([each.count for each in examples]),
        "digest": fingerprint.digest(f"{each.name}\0{each.width}\0{each.height}" for each in examples),
        "labels_digest": fingerprint.digest(_labels(each) for each in examples),
        "storage": storage.of(data.path),
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
