"""The folder of a YOLO data set whose data.yaml was named by itself: Ultralytics keeps such files apart from the images.

Somebody who names the file means the images that it leads to, by `path` or by the folders of its splits; so they may lie
elsewhere on this machine. Where a folder is named, nothing outside of it is looked at: whose data.yaml it is, nobody has said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from unstall.base.errors import InvalidInputError
from unstall.data.io.yolo_files import Settings
from unstall.storage import is_bucket


def where_it_leads(file: Path, settings: Settings) -> tuple[Path, Settings]:
    """The folder that holds images and labels, and the settings as they are read from there."""
    beside = file.parent
    if is_bucket(beside) or any(_some_are_in(base, settings, beside) for base in (beside, beside / settings.base)):
        return beside, settings
    for base in _bases(beside, settings.base):
        if _some_are_in(base, settings, base) and base != Path(base.anchor):  # not the whole machine
            return base, replace(settings, base="")
    places = {place: _plain(beside / settings.base / place) for place in _places(settings)}
    there = [path for path in places.values() if path.exists()]
    root = _above(there)
    if root is None:
        return beside, settings
    splits = {key: [str(places[place]) for place in found] for key, found in settings.splits.items()}
    return root, replace(settings, base="", splits=splits)


def refuse_what_leads_out(file: Path, settings: Settings) -> None:
    """Of a folder without images, whose data.yaml knows where they are."""
    root, _ = where_it_leads(file, settings)
    if root != file.parent:
        raise InvalidInputError(
            f"There is no image in '{file.parent}': its {file.name} leads to '{root}'. Name the file itself, or that folder."
        )


def _bases(beside: Path, base: str) -> Iterator[Path]:
    """From the file, as everybody expects, and from where the command was typed, as Ultralytics reads it too."""
    if base:
        yield _plain(beside / Path(base).expanduser())
        yield _plain(Path(base).expanduser())


def _some_are_in(base: Path, settings: Settings, root: Path) -> bool:
    """Whether one of the splits is inside this folder."""
    found = (_plain(base / place) for place in _places(settings))
    return any(path.exists() and path.is_relative_to(_plain(root)) for path in found)


def _places(settings: Settings) -> list[str]:
    return [place for places in settings.splits.values() for place in places]


def _above(paths: list[Path]) -> Path | None:
    """The folder that holds all of them and their labels: that of images/train and images/val is above images/."""
    if not paths:
        return None
    shared = Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))
    if "images" in shared.parts:
        last = len(shared.parts) - 1 - shared.parts[::-1].index("images")
        shared = Path(*shared.parts[:last])
    return shared if shared != Path(shared.anchor) else None


def _plain(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  (resolve() would follow links)
