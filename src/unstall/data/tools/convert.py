"""A data set into another format. What the format cannot hold is counted, never left out in silence."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from unstall.base.console import Progress
from unstall.base.errors import InvalidInputError
from unstall.data import formats
from unstall.data.example import DataSet
from unstall.data.io.reader import IMAGE_SUFFIXES
from unstall.storage import is_bucket
from unstall.storage.transfer import open_target


@dataclass(frozen=True)
class ConversionResult:
    """What was read, what was written, and what was lost on the way."""

    data: DataSet
    format: str
    path: Path
    lost: dict[str, int]

    def as_plain(self) -> dict[str, Any]:
        return {
            "from": {"path": str(self.data.path), "format": self.data.format},
            "to": {"path": str(self.path), "format": self.format},
            "images": len(self.data.examples),
            "boxes": self.data.box_count,
            "classes": list(self.data.classes),
            "splits": {split: len(rows) for split, rows in self.data.splits().items()},
            "lost": self.lost,
            "images_without_annotation": _left_out(self.data),
            "findings": _counts(self.data),
        }


def convert(
    source: Path,
    target: Path,
    to: str,
    format: str | None = None,
    labels: Path | None = None,
    link: bool = False,
    progress: Progress | None = None,
) -> ConversionResult:
    refuse_taken(target)  # before reading, which may take minutes
    formats.FORMATS.module(to)
    data = formats.read(source, format, progress, labels)
    if not data.examples:
        first = f" {data.findings[0].origin}: {data.findings[0].message}" if data.findings else ""
        raise InvalidInputError(f"'{source}' ({data.format}) has no image that could be written.{first}")
    return write_aside(data, target, to, link, progress)


def write_aside(data: DataSet, target: Path, to: str, link: bool = False, progress: Progress | None = None) -> ConversionResult:
    """Written beside its place and moved there when it is whole: a folder of that name is complete, or not there."""
    refuse_taken(target)
    if is_bucket(target):  # which has no way to rename: what is there grows file by file, from a whole copy
        with open_target(target) as local:
            return replace(write_aside(data, local, to, False, progress), path=target)
    with find_whole_folder(target) as aside:
        lost = formats.FORMATS.module(to).write(data, aside, link=link, progress=progress)
    return ConversionResult(data, to, target, lost)


@contextmanager
def find_whole_folder(target: Path) -> Iterator[Path]:
    """A folder beside its place, which gets its name when all is there, and is gone where something fails."""
    aside = target.absolute().parent / f".{target.absolute().name}.unfinished"
    try:
        aside.mkdir(parents=True)
    except FileExistsError:
        raise InvalidInputError(
            f"'{aside}' is there, from a writing that was broken off or still goes on. Remove it first."
        ) from None
    except OSError as error:
        raise InvalidInputError(f"Cannot write to '{target}': {error.strerror}.") from None
    try:
        yield aside
        aside.replace(target)
    except OSError as error:
        raise InvalidInputError(f"Cannot write to '{target}': {error.strerror or error}.") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def refuse_taken(target: Path) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InvalidInputError(f"'{target}' is there, and is no folder. Expected a new or an empty folder.")
    if target.is_dir() and any(target.iterdir()):
        raise InvalidInputError(f"'{target}' is not empty. Expected a new or an empty folder: nothing is written over.")


def _left_out(data: DataSet) -> int:
    """Images that no annotation is of, in a format where they are then no examples: they are not written."""
    names = {example.name for example in data.examples}
    missing = [finding for finding in data.findings if finding.problem == "annotation_missing" and finding.example not in names]
    return sum(Path(finding.origin.file).suffix.lower() in IMAGE_SUFFIXES for finding in missing)


def _counts(data: DataSet) -> dict[str, int]:
    counts: dict[str, int] = {}
    for finding in data.findings:
        counts[finding.problem] = counts.get(finding.problem, 0) + 1
    return counts
