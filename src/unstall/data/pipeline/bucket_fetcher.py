"""Encoded images that lie in a bucket, read ahead of the workers: many at once, neighbours of one file with one request.

A worker would wait some 50 ms for each image, and there are few workers. The order is known, so the images of the batches to
come are on their way while others are decoded. What is held is bounded by bytes; what does not fit is read by the worker itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from unstall.data.example import DataSet, ImageSource
from unstall.data.pipeline.cache import Cache
from unstall.storage.bucket import AT_ONCE
from unstall.storage.bucket_path import BucketPath, is_in_bucket

MAX_BYTES = 128 * 2**20  # read and not yet taken, or on their way
GUESS_BYTES = 512 * 1024  # of an image whose size is not known before it is read
GAP_BYTES = 512 * 1024  # between two images of a file: it is quicker to read over it than to ask twice
MAX_READ_BYTES = 16 * 2**20  # with one request


@dataclass(frozen=True)
class Piece:
    """Where an image lies in what one request brings."""

    request: Future[bytes]
    begin: int
    end: int | None
    counted: int  # bytes that it stands for in the budget

    def bytes(self) -> memoryview:
        return memoryview(self.request.result())[self.begin : self.end]


class Fetcher:
    """Shared by the workers of one stream of batches. Closing it lets go of what is on its way."""

    def __init__(self, data: DataSet, cache: Cache) -> None:
        self._data, self._cache = data, cache
        self._pieces: dict[ImageSource, Piece] = {}
        self._held = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="unstall-fetch")

    def expect(self, rows: Iterable[int]) -> None:
        """They will be asked for soon."""
        wanted = [source for row in rows if (source := self._source(row)) is not None]
        for group in join_ranges(wanted):
            with self._lock:
                self._ask(group)

    def _source(self, row: int) -> ImageSource | None:
        source = self._data.examples[row].image if row >= 0 else None
        if source is None or not is_in_bucket(source.path) or self._cache.has(row, source):
            return None
        return source

    def _ask(self, group: Sequence[ImageSource]) -> None:
        counted = sum(_size(source) for source in group)
        if self._held + counted > MAX_BYTES or any(source in self._pieces for source in group):
            return
        first, path = group[0], group[0].path
        assert isinstance(path, BucketPath)
        end = group[-1].range[1]
        request = self._pool.submit(path.read_now, first.offset, end)
        self._held += counted
        for source in group:
            begin = source.offset - first.offset
            stop = None if source.length is None else begin + source.length
            self._pieces[source] = Piece(request, begin, stop, _size(source))

    def take(self, source: ImageSource) -> memoryview | None:
        """None: it was not expected. An error of the reading is raised here."""
        with self._lock:
            piece = self._pieces.pop(source, None)
            self._held -= piece.counted if piece is not None else 0
        return piece.bytes() if piece is not None else None

    def forget(self, rows: Iterable[int]) -> None:
        """Their batch is made: whoever has not asked for its image (a cache had it) will not."""
        for row in rows:
            source = self._data.examples[row].image if row >= 0 else None
            if source is not None:
                with self._lock:
                    piece = self._pieces.pop(source, None)
                    self._held -= piece.counted if piece is not None else 0

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def create_fetcher(data: DataSet, cache: Cache) -> Fetcher | None:
    """None where the images lie on a disk."""
    first = next((example.image for example in data.examples if example.image is not None), None)
    return Fetcher(data, cache) if first is not None and is_in_bucket(first.path) else None


def join_ranges(sources: Sequence[ImageSource]) -> list[list[ImageSource]]:
    """Those that one request brings: stretches of the same file that lie near to one another."""
    groups: list[list[ImageSource]] = []
    for source in sorted(set(sources), key=lambda each: (str(each.path), each.offset)):
        before = groups[-1] if groups else None
        if before is not None and _is_near(before, source):
            before.append(source)
        else:
            groups.append([source])
    return groups


def _is_near(group: Sequence[ImageSource], source: ImageSource) -> bool:
    end = group[-1].range[1]
    if group[-1].path != source.path or end is None or source.length is None:
        return False
    return source.offset - end <= GAP_BYTES and source.offset + source.length - group[0].offset <= MAX_READ_BYTES


def _size(source: ImageSource) -> int:
    return GUESS_BYTES if source.length is None else source.length
