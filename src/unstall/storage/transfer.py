"""Whole files between a bucket and a disk: a copy of one that must lie on a disk to be read, and folders put into a bucket."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unstall.base.console import Progress
from unstall.base.errors import AccessDeniedError, InvalidInputError
from unstall.base.files import get_cache_dir
from unstall.storage.bucket import AT_ONCE, read_ahead
from unstall.storage.bucket_path import BucketPath


def find_copies_folder() -> Path:
    """Of the user, for what can be fetched again."""
    return get_cache_dir() / "buckets"


def fetch_to_disk(path: Path) -> Path:
    """The path itself, or a copy of what lies in a bucket: fetched once, and again when the object has changed."""
    if not isinstance(path, BucketPath):
        return path
    found = path.entry()
    if found.is_folder:
        raise InvalidInputError(f"'{path}': expected a file. There is a folder.")
    made_from = hashlib.sha256(f"{path} {found.version} {found.size} {found.changed_at}".encode()).hexdigest()[:24]
    target = find_copies_folder() / made_from / path.name
    if not (target.is_file() and target.stat().st_size == found.size):
        _fetch(path, found.size, target)
    return target


def _fetch(path: BucketPath, size: int, target: Path) -> None:
    aside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            for part in path.bucket.read_large(path.key, size):
                file.write(part)
            length = file.tell()
        if length != size:
            raise InvalidInputError(f"'{path}' has changed while it was read: {length:,} of {size:,} bytes came. Try again.")
        aside.replace(target)
    except OSError as error:
        raise AccessDeniedError(f"Cannot keep a copy of {path} in '{target.parent}': {error.strerror or error}.") from None
    finally:
        aside.unlink(missing_ok=True)


def put_folder(source: Path, target: BucketPath, last: str = "", progress: Progress | None = None) -> int:
    """All files in it, several at once; how many. `last` is what readers know the folder by: it comes when the rest is there."""
    files = sorted(each.relative_to(source).as_posix() for each in source.rglob("*") if each.is_file())
    first = [name for name in files if name != last]

    def put(name: str) -> None:
        target.bucket.write_file((target / name).key, source / name)

    for done, _ in enumerate(read_ahead(put, first, min(AT_ONCE, 8)), start=1):
        if progress is not None:
            progress("writing to the bucket", done, len(files))
    if last in files:
        put(last)
    return len(files)


@contextmanager
def open_target(target: Path) -> Iterator[Path]:
    """Where to write what is to be at `target`: there, or, for a bucket, aside, to be put there when all went well."""
    if not isinstance(target, BucketPath):
        yield target
        return
    with tempfile.TemporaryDirectory(prefix="unstall-for-bucket-") as scratch:
        local = Path(scratch) / target.name
        yield local
        if local.is_dir():
            put_folder(local, target)
        else:
            target.bucket.write_file(target.key, local)
