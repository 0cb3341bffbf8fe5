"""Files that both command lines name under the same argument: configurations line by line, others by their size and hash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from unstall.compare.arguments import all_arguments
from unstall.compare.difference import Difference, difference
from unstall.compare.plain import section


def paired_sources(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The sources of both. A configuration that each run has in a file of another name stands under the newer name in both, so
    that its lines are compared, not its path."""
    old, new = dict(section(before, "sources")), dict(section(after, "sources"))
    were, are = all_arguments(before, after)
    for name, value in are.items():
        was, is_now = _recorded(were.get(name), old), _recorded(value, new)
        if was and is_now and was != is_now and was not in new and is_now not in old:
            old[is_now] = old.pop(was)
    return old, new


def _recorded(value: str | None, files: dict[str, Any]) -> str | None:
    """The name under which a file that an argument names was recorded."""
    path = str(PurePath(value)) if value else ""
    return next((file for file in files if path and (file == path or f"/{file}".endswith(f"/{path}"))), None) or next(
        (file for file in files if path.endswith(f"/{file}")), None
    )


def of_named_files(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Difference]:
    """Of a file that both name by the same path, and that is another one now."""
    old, new = section(before, "named_files"), section(after, "named_files")
    for name in sorted({*old} & {*new}):
        was, is_now = old[name], new[name]
        if not isinstance(was, dict) or not isinstance(is_now, dict) or was.get("sha256") == is_now.get("sha256"):
            continue
        sizes = [each.get("size_bytes") for each in (was, is_now)]
        sizes_differ = sizes[0] != sizes[1] and all(isinstance(size, int) for size in sizes)
        how = f": {sizes[0]:,} → {sizes[1]:,} bytes" if sizes_differ else ", in as many bytes as before"
        words = f"{name} changed{how}"
        yield difference("named_files", "data_contents", sizes[0], sizes[1], words, detail=name)
