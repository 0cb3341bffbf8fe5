"""The formats of data sets. A format is a file of this folder: its name is the format's, its docstring the page.

Each has `SIGNS` (what it is known by), `recognise(path)` (which of them were found; empty: none), `read(path, …)` and
`write(data, path, …)`.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from unstall.base.errors import InvalidInputError
from unstall.base.registry import Registry
from unstall.data.io import other_formats
from unstall.storage import is_bucket, resolve_path

if TYPE_CHECKING:
    from unstall.base.progress import Progress
    from unstall.data.example import DataSet

FORMATS = Registry(__name__, "format")
HEADINGS = ("What it is", "How it is recognised", "What is read", "What is written", "What it cannot hold")
MAX_FOLDERS = 50  # within it, that are looked at where it is no data set itself
MAX_LISTED = 10_000  # files of a folder that are counted for the message that nothing was recognised


def recognise(path: Path | str) -> str:
    """The name of the one format that fits."""
    path = resolve_path(path)
    fitting = {name: found for name in FORMATS.names() if (found := FORMATS.module(name).recognise(path))}
    if len(fitting) == 1:
        return next(iter(fitting))
    if fitting:
        found = "; ".join(f"{name} ({signs})" for name, signs in fitting.items())
        raise InvalidInputError(f"'{path}' could be of several formats: {found}. Say which with --format.")
    if not path.exists():
        raise InvalidInputError(f"'{path}' is not there.")
    looked_for = "; ".join(f"{name}: {FORMATS.module(name).SIGNS}" for name in FORMATS.names())
    hint = "" if is_bucket(path) else _within(path) or other_formats.suggest_format(path)
    raise InvalidInputError(
        f"'{path}' is in no format that is known.{hint} Looked for {looked_for}. Found: {_what_is_there(path)}."
    )


def _within(path: Path) -> str:
    """An archive unpacks to a folder in a folder: the one that holds the data set is named."""
    inner = sorted(each for each in path.glob("*/") if each.is_dir()) if path.is_dir() else []
    inner += [deeper for each in inner for deeper in sorted(each.glob("*/")) if deeper.is_dir()]
    for folder in inner[:MAX_FOLDERS]:
        for name in FORMATS.names():
            if FORMATS.module(name).recognise(folder):
                return f" But '{folder}' is ({name}): name that folder."
    return ""


def read(
    path: Path | str, format: str | None = None, progress: Progress | None = None, labels: Path | str | None = None
) -> DataSet:
    """A data set, with what was found wrong while reading it. `labels` is a label map or class list that lies elsewhere."""
    path = resolve_path(path)
    module = FORMATS.module(format or recognise(path))
    data: DataSet = module.read(path, progress=progress, labels=resolve_path(labels) if labels else None)
    return data


def _what_is_there(path: Path) -> str:
    if not path.is_dir():
        return f"a file of {path.stat().st_size:,} bytes"
    kinds: Counter[str] = Counter()
    for entry in islice(path.rglob("*"), MAX_LISTED):
        kinds["folders" if not is_bucket(path) and entry.is_dir() else entry.suffix.lower() or "no ending"] += 1
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(6)) or "nothing"


# --- pages ---


def list_summaries() -> dict[str, str]:
    """The first line of each page, read without loading the format."""
    return FORMATS.summaries()


def build_page(name: str) -> str:
    """Markdown: the docstring, its underlined headings as such."""
    lines = FORMATS.page(name).splitlines()
    shown = [f"## {line}" if line in HEADINGS else line for line in lines if not line or set(line) != {"-"}]
    return "\n".join([f"# {name}", "", *shown])
