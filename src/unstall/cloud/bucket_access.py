"""What this machine's account may do in a bucket, tried with a small object of its own that is taken away again."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from unstall.base.errors import BucketError, BucketNotFoundError, InvalidInputError
from unstall.storage.urls import is_bucket, parts_of, resolve_path, scheme_of

if TYPE_CHECKING:
    from unstall.storage.bucket import Bucket, Entry

T = TypeVar("T")

PROBE_BYTES = 1024
NO_BUCKET = "there is no such bucket"
NOTHING_THERE = "nothing lies there, or there is no such bucket"


@dataclass(frozen=True)
class AccessAttempt:
    doing: str  # list | write | read | delete
    works: bool | None  # None: could not be tried
    seconds: float = 0.0
    why: str = ""  # where it does not work, or could not be tried

    def as_plain(self) -> dict[str, Any]:
        return {"doing": self.doing, "works": self.works, "seconds": round(self.seconds, 4), "why": self.why}


def try_access(place: str, reads_only: bool = False) -> list[AccessAttempt]:
    """List, write, read, delete: each shows another permission. An account that may not write reads what lies there."""
    if not is_bucket(place):
        raise InvalidInputError(f"--bucket: expected gs://BUCKET or s3://BUCKET, with a folder or without. Received: {place!r}")
    from unstall.storage.bucket import bucket

    place = str(resolve_path(place))
    name, folder = parts_of(place)
    chosen = bucket(scheme_of(place), name)
    listed, entries = _attempt("list", lambda: chosen.entries(folder))
    if listed.works and entries is None:
        listed = replace(listed, works=None, why=NOTHING_THERE)
    if reads_only:
        return [listed, _reading(chosen, entries or [])]
    key = "/".join(part for part in (folder, f"unstall-probe-{secrets.token_hex(8)}") if part)
    raw = secrets.token_bytes(PROBE_BYTES)
    written, _ = _attempt("write", lambda: chosen.write(key, raw, must_be_new=True))
    if not written.works:
        return [replace(written, doing="list") if written.why == NO_BUCKET else listed, written, _reading(chosen, entries or [])]
    if listed.works is None:
        listed = replace(listed, works=True, why="")  # it was empty

    def read_back() -> None:
        if chosen.read(key) != raw:
            raise BucketError(f"{place}: what was read is not what was written, though nobody else knows its name.")

    return [listed, written, _attempt("read", read_back)[0], _attempt("delete", lambda: chosen.delete(key))[0]]


def _reading(chosen: Bucket, entries: list[Entry]) -> AccessAttempt:
    """A byte of something that is there."""
    objects = [each for each in entries if not each.is_folder and each.size]
    if not objects:
        return AccessAttempt("read", None, why="no object lies there that could be read")
    return _attempt("read", lambda: chosen.read(objects[0].key, 0, 1))[0]


def _attempt(doing: str, act: Callable[[], T]) -> tuple[AccessAttempt, T | None]:
    from unstall.storage.retry import Missing, NameTaken

    began = time.perf_counter()
    try:
        result = act()
    except NameTaken:  # nobody else knows the name: an attempt was written whose answer was lost
        return AccessAttempt(doing, True, time.perf_counter() - began), None
    except (Missing, BucketNotFoundError):
        return AccessAttempt(doing, False, time.perf_counter() - began, NO_BUCKET), None
    except BucketError as failed:
        return AccessAttempt(doing, False, time.perf_counter() - began, str(failed)), None
    return AccessAttempt(doing, True, time.perf_counter() - began), result
