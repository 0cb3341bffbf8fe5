"""Decodes one instances file of COCO: the whole of it at once, or entry by entry where something in it is wrong.

An entry that is not as it must be is left out and named (`annotations[17].bbox`); the others are read.
Tools disagree on the quotes of ids: one writes "7" where another refers to 7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from unstall.data.example import Example
from unstall.data.io.coco_segmentation import NO_BOX, Box, compute_extent
from unstall.data.io.reader import Unparsable, as_text, read_bytes

Id = int | float | str  # 1.0 for 1, as pandas writes it, is the same key
WHOLE_NUMBER = re.compile(r"\s*([+-]?\d{1,18})(?:\.0*)?\s*")


def as_number(key: Id) -> Id:
    """The number that a text is; any other text, and a number, as it stands."""
    found = WHOLE_NUMBER.fullmatch(key) if isinstance(key, str) else None
    return int(found[1]) if found else key


class Places:
    """Where the entry with an id is: by the very id, else by the number that it is, where one entry alone has that number."""

    def __init__(self, places: Iterable[tuple[Id, int]]) -> None:
        self._exact = dict(places)
        self._by_number: dict[Id, int] = {}
        twice = set()
        for key, place in self._exact.items():
            number = as_number(key)
            if self._by_number.setdefault(number, place) != place:
                twice.add(number)
        for number in twice:
            del self._by_number[number]

    def get(self, key: Id, without: int) -> int:
        found = self._exact.get(key)
        return self._by_number.get(as_number(key), without) if found is None else found


MAX_JSON_BYTES = 4 << 30  # COCO's own largest has 0.5 GB
TOO_DEEP = "Nested too deeply to be read. Expected an object with images, annotations and categories."
NO_BOX_TO_TAKE = "Expected a box (left, top, width, height), or an outline to take it from (segmentation). Received: {}."

KINDS = {  # as msgspec calls them, and as a person does
    "array": "a list", "object": "an object", "str": "a text", "int": "a whole number", "float": "a number",
    "bool": "true or false", "null": "null",
}  # fmt: skip


class Image(msgspec.Struct, gc=False):
    id: Id
    file_name: str
    width: int | float | str | None = None  # a text is taken where it is a number
    height: int | float | str | None = None


NOTHING = msgspec.Raw(b"")


class Annotation(msgspec.Struct, gc=False):
    image_id: Id
    category_id: Id
    bbox: Box | None = None  # the extent of its outline where the file has none
    iscrowd: int | bool | None = 0
    difficult: int | bool | None = 0
    truncated: int | bool | None = 0
    area: Any = None  # whatever it is: a wrong one is no reason to leave the box out
    # As it stands in the file, for a copy; a view of the file's bytes, which live as long as it does:
    segmentation: msgspec.Raw = NOTHING
    keypoints: msgspec.Raw = NOTHING
    num_keypoints: msgspec.Raw = NOTHING


class Category(msgspec.Struct, gc=False):
    id: Id
    name: str
    supercategory: msgspec.Raw = NOTHING
    keypoints: msgspec.Raw = NOTHING  # names of them
    skeleton: msgspec.Raw = NOTHING

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) and self.id % 1 != 0:  # of what is not finite, too
            raise ValueError("Expected a whole number as id")


class Instances(msgspec.Struct, gc=False):
    images: list[Image]
    annotations: list[Annotation] = []
    categories: list[Category] = []


class _RawInstances(msgspec.Struct):
    images: list[msgspec.Raw]
    annotations: list[msgspec.Raw] = []
    categories: list[msgspec.Raw] = []


class _LooseInstances(msgspec.Struct):
    images: list[Any]
    annotations: list[Any] = []
    categories: list[Any] = []


class DecodedInstances(msgspec.Struct):
    """What could be read, and what could not: field, message. The indexes are those of the file."""

    images: Sequence[Image]
    image_indexes: Sequence[int]
    annotations: Sequence[Annotation]
    annotation_indexes: Sequence[int]
    categories: Sequence[Category]
    wrong: list[tuple[str, str]]


_whole = msgspec.json.Decoder(Instances)
_raw = msgspec.json.Decoder(_RawInstances)


def decode(data: bytes) -> DecodedInstances:
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise Unparsable("The file is empty. Expected a JSON object with images, annotations and categories.")
    try:
        read = _whole.decode(data)
    except msgspec.ValidationError:
        return _entry_by_entry(data)
    except (msgspec.DecodeError, UnicodeError):
        return _with_python(data)
    except RecursionError:
        raise Unparsable(TOO_DEEP) from None
    indexes = range(len(read.annotations))
    return _with_boxes(DecodedInstances(read.images, range(len(read.images)), read.annotations, indexes, read.categories, []))


def _with_boxes(decoded: DecodedInstances) -> DecodedInstances:
    """An object without a box has that of its outline; one without either is left out."""
    without = [at for at, entry in enumerate(decoded.annotations) if entry.bbox is None]
    for at in without:
        decoded.annotations[at].bbox = compute_extent(decoded.annotations[at].segmentation)
    left_out = {at for at in without if decoded.annotations[at].bbox is None}
    if not left_out:
        return decoded
    decoded.wrong += [
        (f"annotations[{decoded.annotation_indexes[at]}].bbox", NO_BOX_TO_TAKE.format(_instead(decoded.annotations[at])))
        for at in left_out
    ]
    decoded.wrong.sort(key=_place)
    kept = [at for at in range(len(decoded.annotations)) if at not in left_out]
    decoded.annotation_indexes = [decoded.annotation_indexes[at] for at in kept]
    decoded.annotations = [decoded.annotations[at] for at in kept]
    return decoded


def _place(wrong: tuple[str, str]) -> tuple[int, int]:
    """In the order of the file as it is read: 'annotations[17].bbox'."""
    kind, _, rest = wrong[0].partition("[")
    return ("images", "annotations", "categories").index(kind), int(rest.partition("]")[0])


def _instead(annotation: Annotation) -> str:
    return "an outline that is none" if is_something(annotation.segmentation) else "neither"


def _entry_by_entry(data: bytes) -> DecodedInstances:
    try:
        raw = _raw.decode(data)
    except msgspec.ValidationError as error:
        raise _unparsable(error) from None
    except (msgspec.DecodeError, UnicodeError):  # a NaN behind the first wrong entry
        return _with_python(data)
    except RecursionError:
        raise Unparsable(TOO_DEEP) from None
    return _decoded(raw, lambda kind: msgspec.json.Decoder(kind).decode)


def _with_python(data: bytes) -> DecodedInstances:
    """Python's own decoder takes NaN and Infinity, which Python's own encoder writes; and it names the line of an error."""
    try:
        value = json.loads(as_text(data))
    except json.JSONDecodeError as error:
        raise Unparsable(f"No JSON: {error.msg} in column {error.colno}.", line=error.lineno) from None
    except RecursionError:
        raise Unparsable(TOO_DEEP) from None
    except ValueError as error:  # a number of thousands of digits
        raise Unparsable(f"No JSON: {error}.") from None
    try:
        loose = msgspec.convert(value, _LooseInstances)
    except (msgspec.ValidationError, UnicodeError) as error:  # half a character where a key is expected
        raise _unparsable(error) from None
    return _decoded(loose, lambda kind: lambda entry: _converted(entry, kind))


def _converted(entry: Any, kind: type[msgspec.Struct]) -> Any:
    """The same from what Python has read; what is wanted as it stands in the file is written again."""
    raw = {name for name in kind.__struct_fields__ if kind.__annotations__[name] == "msgspec.Raw"}
    if not isinstance(entry, dict) or not raw & entry.keys():
        return msgspec.convert(entry, kind)
    read = msgspec.convert({key: value for key, value in entry.items() if key not in raw}, kind)
    for name in raw & entry.keys():
        setattr(read, name, msgspec.Raw(json.dumps(entry[name]).encode()))
    return read


def is_something(raw: msgspec.Raw) -> bool:
    """Neither missing nor null, nor empty, nor nothing but zeros."""
    return bytes(raw).strip(b"[]{},. 0\t\r\n") not in {b"", b"null"}


def _decoded(raw: _RawInstances | _LooseInstances, decoder: Callable[[Any], Callable[[Any], Any]]) -> DecodedInstances:
    wrong: list[tuple[str, str]] = []
    images, image_indexes = _entries(raw.images, decoder(Image), "images", wrong)
    annotations, annotation_indexes = _entries(raw.annotations, decoder(Annotation), "annotations", wrong)
    categories, _ = _entries(raw.categories, decoder(Category), "categories", wrong)
    return _with_boxes(DecodedInstances(images, image_indexes, annotations, annotation_indexes, categories, wrong))


def _entries(
    raw: Sequence[Any], decode_one: Callable[[Any], Any], name: str, wrong: list[tuple[str, str]]
) -> tuple[list[Any], list[int]]:
    read, indexes = [], []
    for index, entry in enumerate(raw):
        try:
            read.append(decode_one(entry))
        except (msgspec.DecodeError, UnicodeError) as error:
            message, field = _message(error)
            wrong.append((f"{name}[{index}]{field}", message))
        except RecursionError:
            wrong.append((f"{name}[{index}]", TOO_DEEP))
        else:
            indexes.append(index)
    return read, indexes


def _unparsable(error: Exception) -> Unparsable:
    message, field = _message(error)
    return Unparsable(message, field=field.removeprefix("."))


def _message(error: Exception) -> tuple[str, str]:
    """msgspec says 'Expected `array`, got `int` - at `$.bbox`': the message, and the field with its dot."""
    match = re.fullmatch(r"(.*?) - at `\$?(.*)`", str(error), re.DOTALL)
    text, field = (match[1], match[2]) if match else (str(error), "")
    missing = re.fullmatch(r"Object missing required field `(\w+)`", text)
    if missing:
        return "Expected this field. Received: an object without it.", f"{field}.{missing[1]}"
    text = re.sub(r"`([^`]*)`", lambda kind: _in_words(kind[1]), text)
    return text.replace(", got ", ". Received: ").rstrip(".") + ".", field


def _in_words(kind: str) -> str:
    """'a number or a text' for `float | str`."""
    words = [KINDS.get(each, f"'{each}'") for each in kind.replace("int | float", "float").split(" | ")]
    return " or ".join(words)


# What an annotation of COCO says besides its box: the outline of the object, its keypoints. A copy carries it.
#
# It is read again from the original when the copy is written: outlines are most of the bytes of a COCO file, and nobody else
# needs them. Only where the box is what it was: an outline beside another box would be wrong.


OF_AN_OBJECT = ("segmentation", "keypoints", "num_keypoints")
OF_A_CLASS = ("supercategory", "keypoints", "skeleton")
NOT_FINITE = (b"NaN", b"Infinity")  # as Python writes them: no JSON

Raws = dict[str, msgspec.Raw]


class CocoExtras:
    """Of the files of one data set, one file at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._file: str | None = None
        self._annotations: dict[int, Annotation] = {}
        self._categories: dict[str, Category] = {}

    def of_box(self, example: Example, box: int) -> Raws | None:
        """To be written beside the box; None where it is another box by now, or the file is not what it was."""
        self._open(example.origin.file)
        found = self._annotations.get(int(example.box_lines[box])) if example.box_lines is not None else None
        if found is None or not np.array_equal(_corners(found), example.boxes[box]):
            return None
        raws = _fields(found, OF_AN_OBJECT)
        return None if any(part in bytes(raw) for raw in raws.values() for part in NOT_FINITE) else raws

    def of_class(self, name: str) -> Raws:
        """Of the files that were opened up to now."""
        found = self._categories.get(name)
        return _fields(found, OF_A_CLASS) if found is not None else {}

    def _open(self, file: str) -> None:
        if file == self._file:
            return
        self._file, self._annotations = file, {}
        try:
            decoded = decode(read_bytes(self._root / file, MAX_JSON_BYTES))
        except (Unparsable, OSError):  # it was readable a moment ago: what it said is counted as lost
            return
        self._annotations = dict(zip(decoded.annotation_indexes, decoded.annotations, strict=True))
        for category in decoded.categories:
            self._categories.setdefault(category.name, category)


def _corners(annotation: Annotation) -> list[float]:
    left, top, width, height = annotation.bbox or NO_BOX
    return [left, top, left + width, top + height]


def _fields(entry: Annotation | Category, names: tuple[str, ...]) -> Raws:
    found = {name: getattr(entry, name) for name in names}
    return {name: raw for name, raw in found.items() if is_something(raw) or (name == "num_keypoints" and bytes(raw) == b"0")}
