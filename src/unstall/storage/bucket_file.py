"""An object in a bucket, read like a file: from anywhere in it, and ahead of whoever reads it from front to back."""

from __future__ import annotations

import io
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unstall.storage.bucket_path import BucketPath

PART_BYTES = 4 * 2**20  # of a request that is made ahead
PARTS_AHEAD = 4
IN_ROW = 2  # reads that followed one another, after which it is taken to be read from front to back


class BucketFile(io.RawIOBase):
    """Bounded in memory: at most PARTS_AHEAD + 1 parts are held."""

    def __init__(self, path: BucketPath) -> None:
        super().__init__()
        self._path = path
        self.size = path.entry().size
        self._at = 0
        self._in_row, self._expected = 0, 0
        self._part, self._part_at = b"", 0
        self._coming: deque[tuple[int, Future[bytes]]] = deque()
        self._pool: ThreadPoolExecutor | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), max(0, self.size - self._at))
        if not count:
            return 0
        self._in_row = self._in_row + 1 if self._at == self._expected else 0
        raw = self._from_parts(count) if self._in_row >= IN_ROW else self._path.read_range(self._at, self._at + count)
        buffer[: len(raw)] = raw
        self._at += len(raw)
        self._expected = self._at
        return len(raw)

    def close(self) -> None:
        if self._pool is not None:
            for _, future in self._coming:
                future.cancel()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        super().close()

    def _from_parts(self, count: int) -> bytes:
        """As much of it as the part at hand has."""
        if not self._part_at <= self._at < self._part_at + len(self._part):
            self._next_part()
        begin = self._at - self._part_at
        return self._part[begin : begin + count]

    def _next_part(self) -> None:
        if not self._coming or self._coming[0][0] != self._at:
            for _, future in self._coming:
                future.cancel()
            self._coming.clear()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(PARTS_AHEAD, thread_name_prefix="unstall-storage")
        following = self._coming[-1][0] + PART_BYTES if self._coming else self._at
        while len(self._coming) <= PARTS_AHEAD and following < self.size:
            end = min(following + PART_BYTES, self.size)
            self._coming.append((following, self._pool.submit(self._path.read_range, following, end)))
            following = end
        self._part_at, future = self._coming.popleft()
        self._part = future.result()
