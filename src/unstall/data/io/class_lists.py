"""Lists of classes that lie beside annotations: one name to a line, a label map, or the names of a data.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from unstall.base.errors import InvalidInputError
from unstall.data.example import Origin
from unstall.data.io import label_map
from unstall.data.io.folder import Folder
from unstall.data.io.reader import Notes, Unparsable, class_list
from unstall.data.io.yolo_files import read_settings


def read(path: Path, file: str, notes: Notes, first_number: int) -> tuple[list[str], list[int]]:
    """Names and numbers. A list of names counts from `first_number`; a label map has numbers of its own."""
    if path.suffix.lower() == ".pbtxt":
        items = label_map.check_items(label_map.read(path), file, notes)
        return [item.shown_name for item in items], [item.number for item in items]
    if path.suffix.lower() in {".yaml", ".yml"}:
        named = sorted(read_settings(path).names.items())
        return [name for _, name in named], [number + first_number for number, _ in named]
    names = class_list(path)
    notes.add_duplicates(names, Origin(file))
    notes.add_background(names, Origin(file))
    return names, list(range(first_number, first_number + len(names)))


def read_given(path: Path, notes: Notes, first_number: int) -> tuple[list[str], list[int]]:
    """One that a person named: if it cannot be read, nothing can."""
    try:
        return read(path, str(path), notes, first_number)
    except Unparsable as error:
        raise InvalidInputError(f"{Origin(str(path), error.line)}: {error}") from None
    except OSError as error:
        raise InvalidInputError(f"'{path}' cannot be read: {error.strerror}.") from None


def find(folder: Folder, names: Iterable[str]) -> str:
    """The first of these files that is there; empty where none is."""
    return next((name for name in names if folder.find("", name).how == "found"), "")
