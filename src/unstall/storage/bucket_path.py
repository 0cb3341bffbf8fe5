"""A path in a bucket that is a `Path`: code which reads, lists and writes through `Path` works with a bucket as with a disk.

What a bucket cannot do (rename, link, lock) has no method here and is refused: `os` asks a path for its name on the disk, and
this one has none. Written objects appear whole when they are closed, or not at all.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath, PurePath
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from unstall.storage.retry import Missing, NameTaken

if TYPE_CHECKING:
    from unstall.storage.bucket import Bucket, Entry

PART_BYTES = 8 * 2**20  # up to here an object is read with one request
READ_AHEAD_BYTES = 256 * 1024  # of a small read: an image's header, a line


class BucketPath(PosixPath):
    """Inside it is /bucket/name; outside scheme://bucket/name. Made by `storage.located`."""

    SCHEME = ""

    # --- what it is called ---

    def __str__(self) -> str:
        text = super().__str__()
        return f"{self.SCHEME}://{text[1:]}" if text.startswith("/") else text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __fspath__(self) -> str:
        raise OSError(errno.ENOTSUP, "this works with files on a disk, not in a bucket", str(self))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def bucket(self) -> Bucket:
        from unstall.storage.bucket import open_bucket

        return open_bucket(self.SCHEME, self.parts[1])

    @property
    def key(self) -> str:
        return "/".join(self.parts[2:])

    def absolute(self) -> BucketPath:
        return self

    def resolve(self, strict: bool = False) -> BucketPath:
        return self

    def expanduser(self) -> BucketPath:
        return self

    # --- what is there ---

    def entry(self) -> Entry:
        from unstall.storage.bucket import Entry

        if not self.key:
            if self.bucket.entries("") is None:
                raise self._missing()
            return Entry("", is_folder=True)
        found = self.bucket.entry(self.key)
        if found is None:
            raise self._missing()
        return found

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        found = self.entry()
        kind = stat.S_IFDIR | 0o755 if found.is_folder else stat.S_IFREG | 0o644
        return os.stat_result((kind, 0, 0, 1, 0, 0, found.size, 0, int(found.changed_at), 0))

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        try:
            self.entry()
        except FileNotFoundError:
            return False
        return True

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        try:
            return not self.entry().is_folder
        except FileNotFoundError:
            return False

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        try:
            return self.entry().is_folder
        except FileNotFoundError:
            return False

    def is_symlink(self) -> bool:
        return False

    def listed(self) -> list[Entry] | None:
        """What is in it, in one request; None where it is no folder."""
        return self.bucket.entries(self.key)

    def iterdir(self) -> Iterator[BucketPath]:  # type: ignore[override]
        found = self.listed()
        if found is None:
            raise self._missing()
        return iter([self.at(each.key) for each in found])

    def glob(self, pattern: str, **others: Any) -> Iterator[BucketPath]:  # type: ignore[override]
        """Of one folder: a name with * and ?."""
        if "/" in pattern or "**" in pattern:
            raise NotImplementedError(f"in a bucket: {pattern}")
        found = [self.at(each.key) for each in self.listed() or []]
        return iter(sorted(path for path in found if fnmatchcase(path.name, pattern)))

    def rglob(self, pattern: str, **others: Any) -> Iterator[BucketPath]:  # type: ignore[override]
        """All objects in it and in the folders within, in one listing; folders are not named."""
        paths = [self.at(each.key) for each in self.bucket.list_all(self.key)]
        return iter(sorted(path for path in paths if fnmatchcase(path.name, pattern)))

    def at(self, key: str) -> BucketPath:
        """Another name in the same bucket."""
        return create_bucket_path(self.SCHEME, self.parts[1], key)

    # --- reading ---

    def read_bytes(self) -> bytes:
        return self.read_range(0, None)

    def read_at_most(self, count: int) -> bytes:
        """So many of its first bytes; a large object in parts, several at once."""
        size = self.entry().size
        if size <= PART_BYTES:
            return self.read_bytes()[:count]
        return b"".join(self.bucket.read_large(self.key, min(size, count)))

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def read_range(self, start: int, end: int | None) -> bytes:
        """The bytes from start up to end; fewer where it ends before."""
        from unstall.storage.prefetch import take_prefetched

        expected = take_prefetched(self, start, end)
        return self.read_now(start, end) if expected is None else expected

    def read_now(self, start: int, end: int | None) -> bytes:
        """Whether it was expected or not."""
        try:
            return self.bucket.read(self.key, start, end)
        except Missing:
            raise self._missing() from None

    def open(  # type: ignore[override]
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        if mode.strip("bt") == "r":
            file: IO[Any] = io.BufferedReader(BucketFile(self), READ_AHEAD_BYTES)
        elif mode.strip("bt") in {"w", "x"}:
            file = _BucketWriter(self, must_be_new="x" in mode)
        else:
            raise OSError(errno.ENOTSUP, f"an object in a bucket can be read or written whole, not opened as {mode!r}", str(self))
        return file if "b" in mode else io.TextIOWrapper(file, encoding or "utf-8", errors, newline)

    # --- writing ---

    def write_bytes(self, data: Any) -> int:
        self.bucket.write(self.key, bytes(data))
        return len(data)

    def write_text(self, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> int:
        return self.write_bytes(data.encode(encoding or "utf-8", errors or "strict"))

    def write_new(self, data: bytes) -> None:
        """FileExistsError where there is something already; the server decides that, not we."""
        try:
            self.bucket.write(self.key, data, must_be_new=True)
        except NameTaken as taken:
            if taken.may_be_ours and self.read_bytes() == data:
                return  # the answer to our own writing was lost on its way
            raise FileExistsError(errno.EEXIST, "there is such an object already", str(self)) from None

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """A bucket has no folders, only names."""

    def unlink(self, missing_ok: bool = False) -> None:
        self.bucket.delete(self.key)

    def _missing(self) -> FileNotFoundError:
        what = "there is no such object, or no such bucket" if self.key else "there is no such bucket, or it is empty"
        return FileNotFoundError(errno.ENOENT, what, str(self))


class GooglePath(BucketPath):
    SCHEME = "gs"


class AmazonPath(BucketPath):
    SCHEME = "s3"


def create_bucket_path(scheme: str, name: str, key: str) -> BucketPath:
    kind = {"gs": GooglePath, "s3": AmazonPath}[scheme]
    return kind(f"/{name}/{key}".rstrip("/"))


class _BucketWriter(io.BytesIO):
    """Held in memory, and put into the bucket when it is closed; where an error came before, nothing is."""

    def __init__(self, path: BucketPath, must_be_new: bool) -> None:
        super().__init__()
        self._write = path.write_new if must_be_new else path.write_bytes

    def close(self) -> None:
        if not self.closed:
            raw = self.getvalue()
            super().close()
            self._write(raw)

    def __exit__(
        self, kind: type[BaseException] | None = None, error: BaseException | None = None, trace: TracebackType | None = None
    ) -> None:
        if kind is not None:
            io.BytesIO.close(self)
        self.close()


def is_in_bucket(path: PurePath | Path) -> bool:
    return isinstance(path, BucketPath)


# An object in a bucket, read like a file: from anywhere in it, and ahead of whoever reads it from front to back.


PREFETCH_PART_BYTES = 4 * 2**20  # of a request that is made ahead
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
        following = self._coming[-1][0] + PREFETCH_PART_BYTES if self._coming else self._at
        while len(self._coming) <= PARTS_AHEAD and following < self.size:
            end = min(following + PREFETCH_PART_BYTES, self.size)
            self._coming.append((following, self._pool.submit(self._path.read_range, following, end)))
            following = end
        self._part_at, future = self._coming.popleft()
        self._part = future.result()
