"""Label maps of the TF Object Detection API (.pbtxt): `item { id: 1 name: 'cat' }`, read and written without TensorFlow;
and other lists of classes that lie beside annotations.

Read as people write them: see `prototext.py`. What is no item is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unstall.base.errors import InvalidInputError
from unstall.data.example import Origin
from unstall.data.io import prototext
from unstall.data.io.folder import Folder
from unstall.data.io.prototext import Block, Scalar
from unstall.data.io.reader import MAX_TEXT_BYTES, FindingCollector, Unparsable, build_class_list, quote, read_text
from unstall.data.io.yolo_files import read_settings


@dataclass(frozen=True, slots=True)
class Item:
    number: int
    name: str
    display_name: str
    line: int

    @property
    def shown_name(self) -> str:
        return self.name or self.display_name


def read(path: Path) -> list[Item]:
    return parse(read_text(path, MAX_TEXT_BYTES))


def parse(text: str) -> list[Item]:
    return [_item(field.value, field.line) for field in prototext.parse(text) if field.name == "item"]


def _item(block: Scalar | Block, line: int) -> Item:
    fields = block.fields if isinstance(block, Block) else []
    values = {field.name: field.value for field in reversed(fields) if isinstance(field.value, Scalar)}
    number = values.get("id")
    if number is None:
        raise Unparsable("This item has no id. Expected `id: 1`.", line=line)
    if not re.fullmatch(r"-?\d{1,9}", number.text):
        raise Unparsable(f"Expected a whole number as id. Received: {quote(number.text)}.", line=number.line)
    names = {key: values[key].text for key in ("name", "display_name") if key in values}
    return Item(int(number.text), names.get("name", ""), names.get("display_name", ""), line)


def check_items(items: Sequence[Item], file: str, notes: FindingCollector) -> list[Item]:
    """The items in the order of their numbers, each number once; what is wrong with them is noted."""
    by_number: dict[int, Item] = {}
    names: dict[str, int] = {}
    for item in items:
        origin = Origin(file, item.line)
        if item.number in by_number:
            other = quote(by_number[item.number].shown_name)
            message = f"The id {item.number} is given to {other} and to {quote(item.shown_name)}, which is passed over."
            notes.add("label_map_duplicates", message, origin)
            continue
        if item.shown_name and item.shown_name in names:
            message = f"The name {quote(item.shown_name)} has the ids {names[item.shown_name]} and {item.number}."
            notes.add("label_map_duplicates", message, origin)
        if item.number < 1:
            message = f"{quote(item.shown_name)} has the id {item.number}. Expected ids from 1: 0 is the background."
            notes.add("label_map_background", message, origin)
        names.setdefault(item.shown_name, item.number)
        by_number[item.number] = item
    numbers = sorted(by_number)
    real = [number for number in numbers if number >= 1]
    if real and real[-1] != len(real):
        missing = f"{len(real)} classes have ids up to {real[-1]}"
        notes.add("label_map_gaps", f"{missing}. Expected 1 to {len(real)} without gaps.", Origin(file))
    return [by_number[number] for number in numbers]


def write(path: Path, names: Sequence[str], numbers: Sequence[int]) -> None:
    blocks = [f'item {{\n  id: {number}\n  name: "{_escaped(name)}"\n}}\n' for number, name in zip(numbers, names, strict=True)]
    path.write_text("\n".join(blocks), encoding="utf-8")


def _escaped(text: str) -> str:
    text = text.encode("utf-8", errors="replace").decode("utf-8").replace("\\", "\\\\").replace('"', '\\"')
    return re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", text)


def read_list(path: Path, file: str, notes: FindingCollector, first_number: int) -> tuple[list[str], list[int]]:
    """Names and numbers. A list of names counts from `first_number`; a label map has numbers of its own."""
    if path.suffix.lower() == ".pbtxt":
        items = check_items(read(path), file, notes)
        return [item.shown_name for item in items], [item.number for item in items]
    if path.suffix.lower() in {".yaml", ".yml"}:
        named = sorted(read_settings(path).names.items())
        return [name for _, name in named], [number + first_number for number, _ in named]
    names = build_class_list(path)
    notes.add_duplicates(names, Origin(file))
    notes.add_background(names, Origin(file))
    return names, list(range(first_number, first_number + len(names)))


def read_given_list(path: Path, notes: FindingCollector, first_number: int) -> tuple[list[str], list[int]]:
    """One that a person named: if it cannot be read, nothing can."""
    try:
        return read_list(path, str(path), notes, first_number)
    except Unparsable as error:
        raise InvalidInputError(f"{Origin(str(path), error.line)}: {error}") from None
    except OSError as error:
        raise InvalidInputError(f"'{path}' cannot be read: {error.strerror}.") from None


def find_list(folder: Folder, names: Iterable[str]) -> str:
    """The first of these files that is there; empty where none is."""
    return next((name for name in names if folder.find("", name).how == "found"), "")
