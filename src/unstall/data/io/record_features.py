"""The features of one record of the TF Object Detection API, and which keys are wrong or missing: said once for a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from unstall.data.example import UNKNOWN_CLASS, Example, Origin
from unstall.data.io.label_map import Item
from unstall.data.io.reader import FindingCollector, Unparsable, quote

Values = Sequence[bytes] | Sequence[float] | Sequence[int]
VALUE_KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}
_FIELD = descriptor_pb2.FieldDescriptorProto


@cache
def _example_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="unstall_example.proto", package="unstall", syntax="proto3")
    for name, kind in (("BytesList", _FIELD.TYPE_BYTES), ("FloatList", _FIELD.TYPE_FLOAT), ("Int64List", _FIELD.TYPE_INT64)):
        file.message_type.add(name=name).field.add(name="value", number=1, type=kind, label=_FIELD.LABEL_REPEATED)
    feature = file.message_type.add(name="Feature")
    feature.oneof_decl.add(name="kind")
    for number, (field, kind_name) in enumerate(
        (("bytes_list", "BytesList"), ("float_list", "FloatList"), ("int64_list", "Int64List")), start=1
    ):
        feature.field.add(name=field, number=number, oneof_index=0, **_of(f".unstall.{kind_name}"))
    features = file.message_type.add(name="Features")
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=_FIELD.TYPE_STRING, label=_FIELD.LABEL_OPTIONAL)
    entry.field.add(name="value", number=2, **_of(".unstall.Feature"))
    features.field.add(
        name="feature",
        number=1,
        type=_FIELD.TYPE_MESSAGE,
        label=_FIELD.LABEL_REPEATED,
        type_name=".unstall.Features.FeatureEntry",
    )
    file.message_type.add(name="Example").field.add(name="features", number=1, **_of(".unstall.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("unstall.Example"))


def _of(type_name: str) -> dict[str, Any]:
    return {"type": _FIELD.TYPE_MESSAGE, "label": _FIELD.LABEL_OPTIONAL, "type_name": type_name}


def parse_features(data: bytes) -> dict[str, tuple[str, Values]]:
    """Key to kind ('bytes', 'float', 'int64'; empty for a feature without one) and values."""
    example = _example_class()()
    try:
        example.ParseFromString(data)
    except DecodeError:
        raise Unparsable("No tf.train.Example: the bytes are not of this message.") from None
    found: dict[str, tuple[str, Values]] = {}
    for key, feature in example.features.feature.items():
        field = feature.WhichOneof("kind")
        found[key] = (VALUE_KINDS[field], getattr(feature, field).value) if field else ("", ())
    return found


def encode_example(values: Mapping[str, Values]) -> bytes:
    """The kind of each feature is that of its values; one of none is of floats where it is a box, else of whole numbers."""
    example = _example_class()()
    for key, items in values.items():
        first = items[0] if len(items) else 0.0 if "/bbox/" in key else b"" if key.endswith("/text") else 0
        field = "bytes_list" if isinstance(first, bytes) else "float_list" if isinstance(first, float) else "int64_list"
        values_of = getattr(example.features.feature[key], field)
        values_of.SetInParent()  # so that an empty list is of its kind, too
        values_of.value.extend(items)
    result: bytes = example.SerializeToString(deterministic=True)
    return result


# The features of one record of the TF Object Detection API, and which keys are wrong or missing: said once for a file.


# In the order of a box: left, top, right, bottom.
BOX_KEYS = tuple(f"image/object/bbox/{edge}" for edge in ("xmin", "ymin", "xmax", "ymax"))
KINDS = {
    "image/encoded": "bytes",
    "image/format": "bytes",
    "image/height": "int64",
    "image/width": "int64",
    "image/filename": "bytes",
    "image/source_id": "bytes",
    **dict.fromkeys(BOX_KEYS, "float"),
    "image/object/class/label": "int64",
    "image/object/class/text": "bytes",
    "image/object/difficult": "int64",
    "image/object/truncated": "int64",
    "image/object/is_crowd": "int64",
    "image/object/group_of": "int64",
}
SAME = {"jpg": "jpeg", "tif": "tiff"}
MAX_KEYS_SHOWN = 12


class RecordKeysWrong(Exception):
    """A record that lacks what is needed, or has it in a wrong kind. Never leaves the reader of records."""


@dataclass(frozen=True)
class RecordFields:
    encoded: bytes
    format: str
    width: int
    height: int
    name: str
    boxes: Sequence[Sequence[float]]
    classes: Sequence[tuple[int | None, str]]  # label, text
    crowd: Sequence[bool]
    difficult: Sequence[bool]
    truncated: Sequence[bool]


class KeyCounter:
    """Counts over one file what its records lack."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._wrong: Counter[tuple[str, str]] = Counter()  # problem, message
        self._first: dict[tuple[str, str], int] = {}
        self._without_boxes: Counter[str] = Counter()
        self._records = 0

    def read(self, index: int, features: Mapping[str, tuple[str, Values]]) -> RecordFields:
        self._records += 1
        features = {key: value for key, value in features.items() if value[0]}  # a feature without a kind holds nothing
        self._check(index, features)
        boxes, count = self._boxes(features)
        crowd = _flags(features, "image/object/is_crowd", count), _flags(features, "image/object/group_of", count)
        return RecordFields(
            encoded=_first(features, "image/encoded", b""),
            format=_text(_first(features, "image/format", b"")).lower(),
            width=_first(features, "image/width", 0),
            height=_first(features, "image/height", 0),
            name=_text(_first(features, "image/filename", b"") or _first(features, "image/source_id", b"")),
            boxes=boxes,
            classes=_classes(features, count),
            crowd=[one or other for one, other in zip(*crowd, strict=True)],
            difficult=_flags(features, "image/object/difficult", count),
            truncated=_flags(features, "image/object/truncated", count),
        )

    def compare_format(self, index: int, said: str, kind: str) -> None:
        if said and kind and SAME.get(said, said) != kind:
            self._count("encodings_mixed", f"image/format says {quote(said)}, and the bytes are {kind}.", index)

    def note(self, notes: FindingCollector) -> None:
        """Says each thing once, with how many records have it."""
        for missing, count in self._without_boxes.items():
            if count == self._records:  # some records without boxes are images without boxes; all of them are a mistake
                self._wrong["record_keys_wrong", missing] = count
        for (problem, message), count in self._wrong.items():
            first = self._first[problem, message]
            notes.add(problem, f"{message} {count} of {self._records} records.", Origin(self._file, field=f"record {first}"))

    def _count(self, problem: str, message: str, index: int) -> None:
        self._wrong[problem, message] += 1
        self._first.setdefault((problem, message), index)

    def _check(self, index: int, features: Mapping[str, tuple[str, Values]]) -> None:
        for key, (kind, _) in features.items():
            if key in KINDS and kind != KINDS[key]:
                self._count("record_keys_wrong", f"{key} holds {kind}. Expected {KINDS[key]}.", index)
                raise RecordKeysWrong
        if "image/encoded" not in features:
            self._count("record_keys_wrong", f"Needed: image/encoded. There: {_shown(features)}.", index)
            raise RecordKeysWrong
        missing = [key for key in BOX_KEYS if key not in features]
        if len(missing) == len(BOX_KEYS):
            message = f"Needed: {', '.join(missing)}. There: {_shown(features)}."
            self._without_boxes[message] += 1
            self._first.setdefault(("record_keys_wrong", message), index)
        elif missing:
            self._count("record_keys_wrong", f"Needed: {', '.join(missing)}. There: {_shown(features)}.", index)
            raise RecordKeysWrong

    @staticmethod
    def _boxes(features: Mapping[str, tuple[str, Values]]) -> tuple[list[Any], int]:
        columns = [np.array(features[key][1], np.float64) for key in BOX_KEYS if key in features]
        lengths = {len(column) for column in columns}
        if len(lengths) > 1:
            said = ", ".join(f"{key.rpartition('/')[2]} {len(features[key][1])}" for key in BOX_KEYS)
            raise Unparsable(f"Expected as many numbers for each edge of a box. Received: {said}.", field=": image/object/bbox")
        count = lengths.pop() if lengths else 0
        return list(np.stack(columns, axis=1)) if count else [], count


def _classes(features: Mapping[str, tuple[str, Values]], count: int) -> list[tuple[int | None, str]]:
    labels = _as_many(features, "image/object/class/label", count)
    texts = [_text(text) for text in _as_many(features, "image/object/class/text", count)]
    return list(zip(labels or [None] * count, texts or [""] * count, strict=True))


def _flags(features: Mapping[str, tuple[str, Values]], key: str, count: int) -> list[bool]:
    return [bool(value) for value in _as_many(features, key, count)] or [False] * count


def _as_many(features: Mapping[str, tuple[str, Values]], key: str, count: int) -> list[Any]:
    """As many values as boxes, or none."""
    values = list(features[key][1]) if key in features else []
    if values and len(values) != count:
        raise Unparsable(f"Expected {count} values, one for each box. Received: {len(values)}.", field=f": {key}")
    return values


def _first(features: Mapping[str, tuple[str, Values]], key: str, default: Any) -> Any:
    values = features[key][1] if key in features else ()
    return values[0] if len(values) else default


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _shown(features: Mapping[str, object]) -> str:
    names = sorted(features)
    shown = ", ".join(quote(name)[1:-1] for name in names[:MAX_KEYS_SHOWN])
    return f"{shown} and {len(names) - MAX_KEYS_SHOWN} more" if len(names) > MAX_KEYS_SHOWN else shown or "none"


# The classes of records: by a label map, or as they occur where there is none.


class Classes:
    def __init__(self, items: Sequence[Item] | None, notes: FindingCollector) -> None:
        self._items = items
        self._notes = notes
        self._by_name = {name: index for index, item in reversed(list(enumerate(items or ()))) for name in _names(item)}
        self._by_number = {item.number: index for index, item in enumerate(items or ())}
        self._met: dict[tuple[int | None, str], int] = {}  # label and text, where there is no label map

    def index(self, label: int | None, text: str, origin: Origin, example: str) -> int:
        """Without a label map, a number that is exchanged at the end for the true one."""
        if self._items is None:
            return self._met.setdefault((label, text), len(self._met)) if text or label is not None else UNKNOWN_CLASS
        if text in self._by_name:
            return self._by_name[text]
        if label in self._by_number and label is not None:
            if text:
                named = quote(self._items[self._by_number[label]].shown_name)
                message = f"The class {quote(text)} is not in the label map; its label {label} is {named} there, and is taken."
                self._notes.add("class_unknown", message, origin, example)
            return self._by_number[label]
        if label is None:
            self._notes.add("class_unknown", f"The class {quote(text)} is not in the label map.", origin, example)
        else:
            numbers = sorted(self._by_number)
            expected = (
                f"one of the label map's {len(numbers)} ids, {numbers[0]} to {numbers[-1]}"
                if numbers
                else "an id of the label map"
            )
            self._notes.add("class_out_of_range", f"Expected {expected}. Received: {label}.", origin, example)
        return UNKNOWN_CLASS

    def finished(self, examples: Sequence[Example], file: str) -> tuple[tuple[str, ...], tuple[int, ...], list[Example]]:
        """Names, numbers, and the examples with the classes that these are."""
        if self._items is not None:
            items = self._items
            return (
                tuple(item.shown_name or str(item.number) for item in items),
                tuple(item.number for item in items),
                list(examples),
            )
        names = self._names_by_number(file)
        texts = sorted({text for label, text in self._met if label is None and text not in names.values()})
        after = max(names, default=0)
        names |= {after + number: text for number, text in enumerate(texts, start=1)}
        numbers = sorted(names)
        place = {names[number]: index for index, number in reversed(list(enumerate(numbers)))}
        by_number = {number: index for index, number in enumerate(numbers)}
        order = np.full(len(self._met) + 1, UNKNOWN_CLASS, np.int32)  # the last is for UNKNOWN_CLASS itself
        for (label, text), met in self._met.items():
            order[met] = place[text] if label is None else by_number[label]
        exchanged = [replace(example, classes=order[example.classes]) for example in examples]
        return tuple(names[number] for number in numbers), tuple(numbers), exchanged

    def _names_by_number(self, file: str) -> dict[int, str]:
        names: dict[int, str] = {}
        for label, text in self._met:
            if label is None:
                continue
            if label in names and text and names[label] not in {text, str(label)}:
                message = f"The label {label} is called {quote(names[label])} and {quote(text)}."
                self._notes.add("label_map_duplicates", message, Origin(file, field="image/object/class"))
            elif text or label not in names:
                names[label] = text or str(label)
        if names and min(names) < 1:
            message = f"The label {min(names)} occurs. Expected labels from 1: 0 is the background."
            self._notes.add("label_map_background", message, Origin(file, field="image/object/class/label"))
        return names


def _names(item: Item) -> list[str]:
    return [name for name in (item.name, item.display_name) if name]
