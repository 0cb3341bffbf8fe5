"""Which features the records of a program have, from the bytes of their files."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from unstall.journal.events import ErrorRaised
from unstall.sensors import record_features

MISSING = ErrorRaised(message="Feature: image_raw (data type: string) is required but could not be found.\n\t [[node]]")


def field(tag: int, data: bytes) -> bytes:
    assert len(data) < 128
    return bytes([tag, len(data)]) + data


def example(**features: bytes) -> bytes:
    """A tf.train.Example; each value is a list with the tag of its kind."""
    entries = (field(0x0A, field(0x0A, name.encode()) + field(0x12, value)) for name, value in features.items())
    return field(0x0A, b"".join(entries))


def texts(*values: bytes) -> bytes:
    return field(0x0A, b"".join(field(0x0A, value) for value in values))


def numbers(*values: int) -> bytes:
    return field(0x1A, field(0x0A, bytes(values)))


def floats(*values: float) -> bytes:
    return field(0x12, field(0x0A, struct.pack(f"<{len(values)}f", *values)))


def write(path: Path, *records: bytes) -> None:
    path.write_bytes(b"".join(len(each).to_bytes(8, "little") + bytes(4) + each + bytes(4) for each in records))


def test_names_types_and_numbers_of_values(tmp_path: Path) -> None:
    one = example(data=texts(b"x"), label=numbers(1, 2, 127), box=floats(0.5, 1.0))
    other = example(data=texts(b"y"), label=numbers(1), image_raw=texts(b"z"), box=field(0x12, b""))
    write(tmp_path / "train.tfrecord", one, other)
    seen = record_features.look_for_features(MISSING, ["train.tfrecord"], str(tmp_path))
    assert seen is not None
    assert (seen.key, seen.records, seen.files, seen.lacking) == ("image_raw", 2, 1, 1)
    assert seen.first_lacking == f"{tmp_path}/train.tfrecord, record 0"
    rows = {row["name"]: (row["types"], row["min_count"], row["max_count"]) for row in seen.features}
    assert rows == {
        "data": (["string"], 1, 1), "label": (["int64"], 1, 3), "box": (["float"], 0, 2), "image_raw": (["string"], 1, 1),
    }  # fmt: skip


def test_values_that_are_not_packed() -> None:
    unpacked = field(0x1A, bytes([0x08, 5, 0x08, 0x80, 0x01]))
    assert record_features.read_features(example(label=unpacked)) == {"label": ("int64", 2)}


@pytest.mark.parametrize("data", [b"", b"no example at all", b"\x0a\x7f", bytes(40), example(a=b"\x1a\x03\x0d\0\0")])
def test_what_is_no_example_is_left_out(data: bytes) -> None:
    found = record_features.read_features(data)
    assert found is None or set(found) == {"a"}


def test_nothing_is_read_for_another_error(tmp_path: Path) -> None:
    write(tmp_path / "train.tfrecord", example(label=numbers(1)))
    assert record_features.look_for_features(ErrorRaised(message="row 5 is wrong"), ["train.tfrecord"], str(tmp_path)) is None
    assert record_features.look_for_features(MISSING, ["gone.tfrecord"], str(tmp_path)) is None
