"""The fingerprint of the data that a program reads: from the names, sizes and first bytes of its files, by the watcher.

Everything is bounded, in files and in time; where not all was looked at, `is_whole` says so. Nothing is decoded: the size of an
image stands in its first bytes, the number of records in the lengths between them.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unstall.data.io.images import parse_header_within
from unstall.journal import provenance
from unstall.sensors import filesystem, label_files, tfrecord_files

MAX_FILES = 200_000
MAX_SECONDS = 20.0
ALL_HEADERS_UP_TO = 5_000
SOME_HEADERS = 4_000  # of more images than that …
LARGEST_HEADERS = 500  # … and those of the largest files, where rare large images are
MAX_LABEL_BYTES = 64 * 2**20
PIECE_BYTES = 256 * 1024
MAX_PIECES = 128  # of a file of arrays, spread over it
IMAGES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff"})
LABELS = frozenset({".xml", ".txt", ".json", ".csv", ".pbtxt"})
ARRAYS = frozenset({".npy", ".npz", ".h5", ".hdf5", ".parquet", ".arrow", ".mdb", ".pkl", ".zip", ".tar"})
RECORD = re.compile(r"\.(tf)?rec(ord)?s?(-\d+-of-\d+)?(\.gz)?$", re.IGNORECASE)


@dataclass
class FoundFiles:
    """Files by kind, each with its size."""

    until: float
    images: dict[str, int] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, int] = field(default_factory=dict)
    count: int = 0
    is_whole: bool = True

    def add(self, path: str, size: int) -> None:
        kind = find_kind(path)
        if kind is not None and path not in (files := getattr(self, kind)):
            files[path] = size
            self.count += 1

    @property
    def is_full(self) -> bool:
        if self.count >= MAX_FILES or time.monotonic() > self.until:
            self.is_whole = False
        return not self.is_whole

    def all(self) -> dict[str, int]:
        return {**self.images, **self.records, **self.labels, **self.arrays}


def find_kind(path: str) -> str | None:
    suffix = os.path.splitext(path)[1].lower()  # noqa: PTH122 - called for each of very many
    for kind, suffixes in (("images", IMAGES), ("labels", LABELS), ("arrays", ARRAYS)):
        if suffix in suffixes:
            return kind
    return "records" if RECORD.search(path) else None


def measure(paths: Sequence[str], folder: str = "", max_s: float = MAX_SECONDS) -> dict[str, Any]:
    """Of files, folders and patterns; relative ones are meant from the folder. Empty where no data lies there."""
    found = FoundFiles(time.monotonic() + max_s)
    for path in paths:
        for whole in list_matched(os.path.join(folder, path)):  # noqa: PTH118 - patterns are no paths
            if found.is_full:
                break
            _collect(whole, found)
    for beside in label_files.list_label_paths(found.images):
        _collect(beside, found)
    return describe_files(found) if found.count else {}


def list_matched(path: str) -> Iterable[str]:
    """What a pattern matches; a path that is none, as it is."""
    return glob.iglob(path, recursive=True) if glob.has_magic(path) and not os.path.exists(path) else [path]  # noqa: PTH110, PTH207


def _collect(path: str, found: FoundFiles) -> None:
    if found.is_full:
        return
    try:
        status = os.stat(path)  # noqa: PTH116 - called for each of very many
    except OSError:
        return
    if not os.path.isdir(path):  # noqa: PTH112
        found.add(path, status.st_size)
        return
    for file, size in _within(path, found):
        found.add(file, size)


def _within(folder: str, found: FoundFiles) -> Iterator[tuple[str, int]]:
    waiting = [folder]
    while waiting and not found.is_full:
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir() and not entry.name.startswith("."):
                    waiting.append(entry.path)
                elif entry.is_file():
                    yield entry.path, entry.stat().st_size
            except OSError:
                continue
            if found.is_full:
                return


def describe_files(found: FoundFiles) -> dict[str, Any]:
    files = found.all()
    base = os.path.commonpath([os.path.dirname(path) for path in files])  # noqa: PTH120
    records = tfrecord_files.look(found.records, found.until)
    sizes = [*_image_sizes(found), *records.images]
    boxes = label_files.count_boxes_per_image(found.labels, len(found.images), found.until) or records.boxes
    return {
        "folder": base,
        "files": len(files),
        "bytes": sum(files.values()),
        "kinds": _kinds(files),
        "examples": len(found.images) or len(records.lengths) or None,
        "image_px": provenance.summarize_images([(width, height) for _, width, height in sizes]),
        "largest": provenance.list_largest_images((os.path.relpath(name, base), width, height) for name, width, height in sizes),
        "boxes_per_image": provenance.summarize_counts(boxes),
        "record_bytes": provenance.compute_quantiles(records.lengths),
        "digest": provenance.compute_digest(f"{os.path.relpath(path, base)}\0{size}" for path, size in files.items()),
        "labels_digest": _labels_digest(found),
        "arrays_digest": _arrays_digest(found),
        "storage": filesystem.find_filesystem(Path(base)),
        "is_whole": found.is_whole and time.monotonic() <= found.until,
    }


def _kinds(files: dict[str, int]) -> dict[str, dict[str, int]]:
    plain: dict[str, dict[str, int]] = {}
    for path, size in files.items():
        suffix = "record" if RECORD.search(path) else Path(path).suffix.lower().lstrip(".")
        known = plain.setdefault(suffix, {"files": 0, "bytes": 0})
        known["files"] += 1
        known["bytes"] += size
    return dict(sorted(plain.items()))


def _image_sizes(found: FoundFiles) -> list[tuple[str, int, int]]:
    """Name, width and height: of all, or of some that are spread over them, and of those that have most bytes."""
    names = sorted(found.images)
    if len(names) > ALL_HEADERS_UP_TO:
        heavy = sorted(names, key=lambda name: -found.images[name])[:LARGEST_HEADERS]
        names = sorted({*names[:: -(-len(names) // SOME_HEADERS)], *heavy})
    rows = []
    for name in names:
        if time.monotonic() > found.until:
            break
        try:
            with Path(name).open("rb") as file:
                header = parse_header_within(file, 0)
        except OSError:
            continue
        if header.width and header.height:
            rows.append((name, header.width, header.height))
    return rows


def _labels_digest(found: FoundFiles) -> str:
    """Of what the annotations hold, where that can be read in little time: a label that is other may be as long as before."""
    if not found.labels or sum(found.labels.values()) > MAX_LABEL_BYTES:
        return ""
    parts = []
    for path in found.labels:
        try:
            parts.append(f"{os.path.basename(path)}\0{hashlib.sha256(Path(path).read_bytes()).hexdigest()}")  # noqa: PTH119
        except OSError:
            continue
    return provenance.compute_digest(parts)


def _arrays_digest(found: FoundFiles) -> str:
    """Of what files of arrays hold: labels that were mixed up leave a file as long as it was. Of large ones, of some pieces."""
    parts = []
    for path, size in found.arrays.items():
        if time.monotonic() > found.until:
            return ""
        step = max(PIECE_BYTES, size // MAX_PIECES)
        total = hashlib.sha256()
        try:
            with Path(path).open("rb") as file:
                for start in sorted({*range(0, size, step), max(0, size - PIECE_BYTES)}):
                    file.seek(start)
                    total.update(b"%d:" % start + file.read(PIECE_BYTES))
        except OSError:
            continue
        parts.append(f"{os.path.basename(path)}\0{total.hexdigest()}")  # noqa: PTH119
    return provenance.compute_digest(parts) if parts else ""
