"""One bucket: objects read whole or in part, many at once, written whole, listed and deleted, each within its time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from unstall.base.errors import BucketError, BucketNotFoundError
from unstall.storage.clients import create_client
from unstall.storage.retry import Missing, OutOfRange, RetryPolicy

T = TypeVar("T")
U = TypeVar("U")

PART_BYTES = 8 * 2**20  # of a large object that is read in parts at the same time
AT_ONCE = 32  # requests: a bucket answers each in 30 to 100 ms, however many there are
LISTED_AS_BYTES = 64 * 2**20  # time for a listing of some hundred thousand names, a thousand at a time


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a bucket."""

    key: str
    size: int = 0
    is_folder: bool = False  # names go on behind it; nothing lies there itself
    version: str = ""  # changes with its contents
    changed_at: float = 0.0


class Bucket:
    def __init__(self, scheme: str, name: str) -> None:
        self.scheme, self.name = scheme, name
        self._client = create_client(scheme)
        self._patience = RetryPolicy(scheme, name, self._client.failures)
        self._is_known_to_be_there = False

    # --- reading ---

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        """Missing where there is none. A range that begins behind its end gives nothing."""
        if end is not None and end <= start:
            return b""
        limits = self._client.whole if start == 0 and end is None else {"start": start, "end": end}
        size = PART_BYTES if end is None else end - start
        try:
            raw: bytes = self._try("read", key, lambda files, path: files._cat_file(path, **limits), size)
        except OutOfRange:
            return b""
        return raw

    def read_large(self, key: str, size: int) -> Iterator[bytes]:
        """Its parts in order, several of them on their way at once."""
        ranges = [(begin, min(begin + PART_BYTES, size)) for begin in range(0, size, PART_BYTES)]
        yield from read_ahead(lambda each: self.read(key, *each), ranges, 4)

    def entry(self, key: str) -> Entry | None:
        """What is of this name: an object, or names behind it. None: nothing."""
        try:
            info = self._try("read", key, lambda files, path: files._info(path))
        except Missing:
            self._assert_there()
            return None
        return Entry(key, int(info.get("size") or 0), info["type"] == "directory", _version(info), _changed(info))

    def entries(self, folder: str) -> list[Entry] | None:
        """What is in it. None: there is no such folder."""
        try:
            found = self._try("list", folder, lambda files, path: files._ls(path, detail=True), LISTED_AS_BYTES)
        except Missing:
            self._assert_there()
            return None
        folder_itself = f"{self.name}/{folder}".rstrip("/")
        listed = [self._entry(info) for info in found if info["name"].rstrip("/") != folder_itself]
        return listed or None

    def _assert_there(self) -> None:
        """A bucket whose name is mistyped is no empty one. Who may not ask for the bucket itself is left in peace."""
        if self._is_known_to_be_there:
            return
        try:
            self._try("read", "", lambda files, path: files._info(path))
        except Missing:
            raise BucketNotFoundError(f"{self.scheme}://{self.name} cannot be read: there is no such bucket.") from None
        except BucketError:
            pass
        self._is_known_to_be_there = True

    def list_all(self, folder: str) -> list[Entry]:
        """All objects in it and in the folders within."""
        try:
            found = self._try("list", folder, lambda files, path: files._find(path, detail=True), LISTED_AS_BYTES)
        except Missing:
            return []
        return [self._entry(info) for info in found.values() if info["type"] == "file"]

    # --- writing ---

    def write(self, key: str, raw: bytes, must_be_new: bool = False) -> None:
        """Whole or not at all. Taken where it must be new and is there; the server decides that, not we."""
        mode = "create" if must_be_new else "overwrite"
        self._write(key, lambda files, path: files._pipe_file(path, raw, mode=mode), len(raw))

    def write_file(self, key: str, source: Path) -> None:
        """A large one, piece by piece; what readers see is whole or not there."""
        size = source.stat().st_size
        if size <= PART_BYTES:
            self.write(key, source.read_bytes())
        else:
            self._write(key, lambda files, path: files._put_file(str(source), path), size)

    def _write(self, key: str, ask: Callable[[Any, str], Coroutine[Any, Any, Any]], size: int) -> None:
        try:
            self._try("write", key, ask, size)
        except Missing:  # an object need not be there before it is written
            raise BucketNotFoundError(f"{self.scheme}://{self.name}/{key} cannot be written: there is no such bucket.") from None

    def delete(self, key: str) -> None:
        """Also if it is not there."""
        try:
            self._try("delete", key, lambda files, path: files._rm_file(path))
        except Missing:
            return

    # --- how ---

    def _try(self, doing: str, key: str, ask: Callable[[Any, str], Coroutine[Any, Any, Any]], size: int = 0) -> Any:
        path = f"{self.name}/{key}".rstrip("/")

        def attempt(limit_s: float) -> Any:
            return self._client.done(lambda: ask(self._client.files, path), limit_s)

        return self._patience.retry(doing, key, attempt, size)

    def _entry(self, info: dict[str, Any]) -> Entry:
        key = info["name"].rstrip("/").removeprefix(f"{self.name}/")
        return Entry(key, int(info.get("size") or 0), info["type"] == "directory", _version(info), _changed(info))


def _version(info: dict[str, Any]) -> str:
    return str(info.get("generation") or info.get("ETag") or "").strip('"')


def _changed(info: dict[str, Any]) -> float:
    at = info.get("mtime") or info.get("LastModified")
    return float(at.timestamp()) if isinstance(at, datetime) else 0.0


def read_ahead(work: Callable[[T], U], things: Iterable[T], at_once: int = AT_ONCE) -> Iterator[U]:
    """The results in order, while so many of the next are worked on; never more are held than that."""
    from collections import deque

    waiting: deque[Any] = deque()
    with ThreadPoolExecutor(at_once, thread_name_prefix="unstall-storage") as pool:
        try:
            for thing in things:
                waiting.append(pool.submit(work, thing))
                if len(waiting) > at_once:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


_buckets: dict[tuple[str, str], Bucket] = {}
_lock = threading.Lock()


def open_bucket(scheme: str, name: str) -> Bucket:
    """One for all who use it, so that they share its connections and its patience."""
    with _lock:
        if (scheme, name) not in _buckets:
            _buckets[scheme, name] = Bucket(scheme, name)
        return _buckets[scheme, name]


def forget_buckets() -> None:
    """For whoever has changed the credentials or the address of the server."""
    from unstall.storage.clients import forget_clients

    with _lock:
        _buckets.clear()
    forget_clients()
