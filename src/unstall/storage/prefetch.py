"""Small reads that will be asked for, one after the other, are made ahead: each alone takes as long as the way there.

with expecting(root, [(path, 0, None), …]):     on a disk: nothing happens
    path.read_bytes()                     on its way already, with some dozen of the next
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from unstall.storage.bucket_path import BucketPath, is_in_bucket

AT_ONCE = 32
AHEAD = 4 * AT_ONCE  # held at most: read and not yet asked for, or on their way

Asked = tuple[Path, int, int | None]  # from where to where; None: to the end


class _PrefetchQueue:
    def __init__(self, asked: Iterable[Asked]) -> None:
        self._following = iter(asked)
        self._coming: OrderedDict[Asked, Future[bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="unstall-storage")
        self._fill()

    def take(self, asked: Asked) -> Future[bytes] | None:
        with self._lock:
            future = self._coming.pop(asked, None)
            if future is None and len(self._coming) == AHEAD:  # the oldest were passed over: nobody will ask for them
                self._coming.popitem(last=False)[1].cancel()
            self._fill()
            return future

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _fill(self) -> None:
        while len(self._coming) < AHEAD and (asked := next(self._following, None)) is not None:
            path, start, end = asked
            assert isinstance(path, BucketPath)
            self._coming[asked] = self._pool.submit(path.read_now, start, end)


_expected: list[_PrefetchQueue] = []


@contextmanager
def prefetch_files(root: Path, asked: Iterable[Asked]) -> Iterator[None]:
    """`asked`, in the order in which it will be read, is of files in `root`."""
    if not is_in_bucket(root):
        yield
        return
    expected = _PrefetchQueue(asked)
    _expected.append(expected)
    try:
        yield
    finally:
        _expected.remove(expected)
        expected.close()


def take_prefetched(path: BucketPath, start: int, end: int | None) -> bytes | None:
    """What was expected and has come, or comes soon. An error is that of the reading itself."""
    for expected in reversed(_expected):
        future = expected.take((path, start, end))
        if future is not None:
            return future.result()
    return None
