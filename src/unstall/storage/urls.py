"""What a path is: a place on a disk or in a bucket. Standard library only, and nothing is opened.

A variable that is not set is the commonest fault of a path in a job file: `gs://$BUCKET/coco` becomes `gs:///coco` where a
shell has expanded it, and stays as it is written where none has. Both are refused here, before anything waits for a server.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from unstall.base.errors import InvalidInputError

SCHEMES = ("gs", "s3")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_VARIABLE = re.compile(r"\$(?:\{(\w*)[^}]*\}|(\w+))")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,221}")


def is_bucket(place: str | Path) -> bool:
    return get_scheme(str(place)) in SCHEMES


def get_scheme(text: str) -> str:
    """'gs' of gs://bucket/x; empty for a path on a disk."""
    found = _SCHEME.match(text)
    return found[1].lower() if found else ""


def resolve_path(text: str | Path) -> Path:
    """The path that is meant. What cannot be one is refused; whether there is something is not looked at."""
    if isinstance(text, Path):
        return text
    expanded = os.path.expandvars(os.path.expanduser(text))  # noqa: PTH111 (with the variables, as one)
    refuse_unset(expanded)
    if not get_scheme(expanded):
        return Path(expanded)
    from unstall.storage.bucket_path import create_bucket_path

    bucket, key = split_url(expanded)
    return create_bucket_path(get_scheme(expanded), bucket, key)


def expand_variables(place: str | None) -> str | None:
    """A place in a bucket with its variables in it, as in gs://$BUCKET/runs of a job file, so that it has one name everywhere."""
    return str(resolve_path(place)) if place is not None and is_bucket(place) else place


def split_url(text: str) -> tuple[str, str]:
    """The bucket and the name in it."""
    scheme = get_scheme(text)
    if scheme not in SCHEMES:
        raise InvalidInputError(f"'{text}': expected a path, gs://BUCKET/NAME or s3://BUCKET/NAME. Received: {scheme}://")
    bucket, _, key = text[len(scheme) + 3 :].partition("/")
    if not bucket:
        raise InvalidInputError(
            f"'{text}' names no bucket. Expected {scheme}://BUCKET/NAME. Was a variable in its place that is not set?"
        )
    if not _BUCKET.fullmatch(bucket):
        raise InvalidInputError(f"'{text}': expected a bucket's name of letters, digits, dots and dashes. Received: {bucket!r}")
    return bucket, key.strip("/")


def refuse_unset(text: str) -> None:
    """A variable that is left in a path, unless a file on the disk is really called so."""
    name = find_unset_variable(text)
    if name is not None and not (get_scheme(text) == "" and Path(text).exists()):
        what = f"the variable {name}, which is not set" if name else "a variable without a name"
        raise InvalidInputError(f"'{text}' has {what}. Set it (export {name or 'NAME'}=…), or write the path out.")


def find_unset_variable(text: str) -> str | None:
    """The name of the first variable that stands in it."""
    found = _VARIABLE.search(text)
    return (found[1] or found[2] or "") if found else None
