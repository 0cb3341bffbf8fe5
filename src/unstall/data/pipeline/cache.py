"""Decoded images kept within a budget of bytes, in memory or on disk. Each is a copy of what decoding would give again.

What is in stays in: every epoch asks for each image once, in a new order, and then the share of hits is the share that fits;
throwing out the oldest to make room for the newest would give fewer. A cache that fails (a full disk, a file cut short) is
a cache that does not have the image: the pipeline decodes it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Protocol

import numpy as np

from unstall.data.example import ImageSource
from unstall.data.pipeline.decoder import Pixels
from unstall.storage.bucket_path import is_in_bucket

SUFFIX = ".pixels.npy"
REDUCTIONS = (1, 2, 4, 8)  # sizes that a decoder gives


class Cache(Protocol):
    @property
    def bytes(self) -> int: ...

    def get(self, row: int, source: ImageSource, reduction: int) -> Pixels | None: ...

    def has(self, row: int, source: ImageSource) -> bool:
        """At some size: then the file is not likely to be read. Quick, and may be mistaken."""

    def offer(self, row: int, source: ImageSource, reduction: int, pixels: Pixels) -> None:
        """Keeps a copy if it fits."""


class Budget:
    """Bytes taken and given by many threads."""

    def __init__(self, most: int) -> None:
        self._most, self.taken = most, 0
        self._lock = threading.Lock()

    def take(self, count: int) -> bool:
        with self._lock:
            fits = self.taken + count <= self._most
            self.taken += count if fits else 0
            return fits

    def give(self, count: int) -> None:
        with self._lock:
            self.taken -= count


class NoCache:
    bytes = 0

    def get(self, row: int, source: ImageSource, reduction: int) -> Pixels | None:
        return None

    def has(self, row: int, source: ImageSource) -> bool:
        return False

    def offer(self, row: int, source: ImageSource, reduction: int, pixels: Pixels) -> None:
        return None


class MemoryCache:
    def __init__(self, max_bytes: int) -> None:
        self._budget = Budget(max_bytes)
        self._kept: dict[tuple[int, int], Pixels] = {}

    @property
    def bytes(self) -> int:
        return self._budget.taken

    def get(self, row: int, source: ImageSource, reduction: int) -> Pixels | None:
        return self._kept.get((row, reduction))

    def has(self, row: int, source: ImageSource) -> bool:
        return any((row, reduction) in self._kept for reduction in REDUCTIONS)

    def offer(self, row: int, source: ImageSource, reduction: int, pixels: Pixels) -> None:
        if (row, reduction) in self._kept or not self._budget.take(pixels.nbytes):
            return
        kept = pixels.copy()
        kept.flags.writeable = False
        if self._kept.setdefault((row, reduction), kept) is not kept:
            self._budget.give(pixels.nbytes)  # another worker was quicker


class DiskCache:
    """One file for each image, named by what it was made from: a changed image is another one. Survives the run."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._budget = Budget(max_bytes)
        self._budget.taken = sum(path.stat().st_size for path in folder.glob(f"*{SUFFIX}"))
        self._is_broken = False
        self._seen: dict[ImageSource, tuple[int, int]] = {}  # size and time of those in a bucket: asked for once in a run

    @property
    def bytes(self) -> int:
        return self._budget.taken

    def get(self, row: int, source: ImageSource, reduction: int) -> Pixels | None:
        try:
            pixels = np.load(self._path(source, reduction), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return pixels if pixels.dtype == np.uint8 and pixels.ndim == 3 and pixels.shape[2] == 3 else None

    def offer(self, row: int, source: ImageSource, reduction: int, pixels: Pixels) -> None:
        if self._is_broken:
            return
        needed = pixels.nbytes + 128  # .npy's header
        try:
            path = self._path(source, reduction)
            if path.exists() or not self._budget.take(needed):
                return
            aside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
            with aside.open("wb") as file:
                np.save(file, pixels, allow_pickle=False)
            aside.replace(path)
        except OSError:
            self._is_broken = True  # the disk is full or gone; what is there already is still read

    def has(self, row: int, source: ImageSource) -> bool:
        return source in self._seen and any(self._path(source, reduction).exists() for reduction in REDUCTIONS)

    def _status(self, source: ImageSource) -> tuple[int, int]:
        known = self._seen.get(source)
        if known is None:
            status = source.path.stat()
            known = status.st_size, status.st_mtime_ns
            if is_in_bucket(source.path):
                self._seen[source] = known
        return known

    def _path(self, source: ImageSource, reduction: int) -> Path:
        made_from = (str(source.path.resolve()), source.offset, source.length, *self._status(source), reduction)
        return self._folder / (hashlib.sha256(repr(made_from).encode()).hexdigest()[:32] + SUFFIX)


def open_cache(max_bytes: int, folder: Path | None) -> Cache:
    if not max_bytes:
        return NoCache()
    return MemoryCache(max_bytes) if folder is None else DiskCache(folder, max_bytes)
