"""Looks at a path that a program could not find: how far it exists, what lies there under a similar name."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from unstall.base.suggestions import closest_names
from unstall.diagnosis.error_messages import missing_path
from unstall.journal.events import ErrorRaised, PathLooked

MAX_ENTRIES = 5000
_VARIABLE = re.compile(r"""(?:environ\.get|getenv)\(\s*f?['"](?P<a>\w+)['"]|environ\[\s*['"](?P<b>\w+)['"]\s*\](?!\s*=[^=])""")


def look(error: ErrorRaised, folder: str, environment: dict[str, str]) -> PathLooked | None:
    """None if the error is about no missing path."""
    path = next((path for text in (error.message, *error.chain) if (path := missing_path(text)) is not None), None)
    if path is None:
        return None
    whole = Path(folder, path) if folder else Path(path)
    parent, part = _exists_up_to(whole)
    return PathLooked(
        at=time.time(),
        path=path,
        exists_up_to=str(parent),
        near=closest_names(part, _names(parent), 3, cutoff=0.75) if part else [],
        unset_variables=[name for name in _variables(error) if not environment.get(name)],
    )


def _exists_up_to(path: Path) -> tuple[Path, str]:
    """The deepest folder that exists, and the part that does not in it. A pattern's wildcards exist nowhere."""
    for parent in path.parents:
        if parent.is_dir():
            rest = path.relative_to(parent).parts
            return parent, rest[0] if rest and "*" not in rest[0] else ""
    return Path("/"), ""


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
    except OSError:
        return []


def _variables(error: ErrorRaised) -> list[str]:
    """Environment variables that the user's files in the traceback ask for."""
    found: dict[str, None] = {}
    for frame in error.frames:
        if "site-packages" in frame["file"] or "/lib/python" in frame["file"]:
            continue
        try:
            source = Path(frame["file"]).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for match in _VARIABLE.finditer(source):
            found[match["a"] or match["b"]] = None
    return list(found)
