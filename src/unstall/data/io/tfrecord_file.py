"""TFRecord files and the tf.train.Example messages in them, read and written without TensorFlow.

Each record has its length and two checksums (masked CRC32C).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import google_crc32c
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from unstall.data.io.reader import Unparsable

HEAD_BYTES = 12  # length (8) and its checksum (4); after the data comes the data's own (4)
MAX_RECORD_BYTES = (1 << 31) - 1  # protobuf takes no message beyond 2 GiB
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Record:
    index: int  # from 0
    offset: int  # of its data in the file
    data: bytes


@dataclass(frozen=True, slots=True)
class BrokenRecord:
    """A place where a file is not as it must be; after some of them nothing more can be read."""

    index: int
    problem: str
    message: str


def compute_masked_crc(data: bytes) -> int:
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def is_record_file(path: Path) -> bool:
    """Whether the first length has the right checksum: by chance one file in four thousand millions has it."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    return len(head) == HEAD_BYTES and compute_masked_crc(head[:8]) == struct.unpack("<I", head[8:])[0]


def read(path: Path) -> Iterator[Record | BrokenRecord]:
    """Every record that is whole. One with a wrong checksum is passed over; where its length is wrong, the file ends."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        index = offset = 0
        while offset < size:
            head = file.read(HEAD_BYTES)
            if head.startswith(GZIP) and index == 0:
                yield BrokenRecord(
                    0, "annotation_unparsable", "Compressed with gzip. Expected plain records; unpack it with gunzip."
                )
                return
            if len(head) < HEAD_BYTES:
                yield BrokenRecord(index, "record_truncated", f"The file ends within the length of record {index}.")
                return
            length, crc = struct.unpack("<QI", head)
            if compute_masked_crc(head[:8]) != crc:
                message = f"The length of record {index} has a wrong checksum; neither it nor what follows can be read."
                yield BrokenRecord(index, "record_crc_wrong", message)
                return
            left = size - offset - HEAD_BYTES - 4
            if length > left or length > MAX_RECORD_BYTES:
                message = f"Record {index} should have {length:,} bytes; the file has {max(0, left):,} for it."
                yield BrokenRecord(index, "record_truncated", message)
                return
            data = file.read(length)
            (crc,) = struct.unpack("<I", file.read(4))
            if compute_masked_crc(data) == crc:
                yield Record(index, offset + HEAD_BYTES, data)
            else:
                yield BrokenRecord(
                    index, "record_crc_wrong", f"The data of record {index} have a wrong checksum; it is left out."
                )
            index, offset = index + 1, offset + HEAD_BYTES + length + 4


def count(path: Path) -> int:
    """How many there are, by their lengths alone: data is not read, so that large files are counted, too. To the first break."""
    found = offset = 0
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        while offset + HEAD_BYTES <= size:
            file.seek(offset)
            head = file.read(HEAD_BYTES)
            length, crc = struct.unpack("<QI", head)
            offset += HEAD_BYTES + length + 4
            if compute_masked_crc(head[:8]) != crc or offset > size:
                break
            found += 1
    return found


def write(file: BinaryIO, data: bytes) -> None:
    head = struct.pack("<Q", len(data))
    file.write(head + struct.pack("<I", compute_masked_crc(head)))
    file.write(data)
    file.write(struct.pack("<I", compute_masked_crc(data)))


# tf.train.Example without TensorFlow: its definition is built here, in a pool of its own; TensorFlow's may stand beside it.
#
# message Example  { Features features = 1; }
# message Features { map<string, Feature> feature = 1; }
# message Feature  { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }


Values = Sequence[bytes] | Sequence[float] | Sequence[int]
KINDS = {"bytes_list": "bytes", "float_list": "float", "int64_list": "int64"}
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
    except message.DecodeError:
        raise Unparsable("No tf.train.Example: the bytes are not of this message.") from None
    found: dict[str, tuple[str, Values]] = {}
    for key, feature in example.features.feature.items():
        field = feature.WhichOneof("kind")
        found[key] = (KINDS[field], getattr(feature, field).value) if field else ("", ())
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
