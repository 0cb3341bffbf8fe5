"""TFRecord files from outside: how many records, how large; and of some, the size of the image and the number of boxes in them.

Nothing is decoded and no package is needed: an image's size stands in its first bytes, the number of boxes of the TensorFlow
Object Detection API in the length of a list of numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from unstall.data.io.images import parse_header_within

MAX_RECORDS = 200_000
SOME_RECORDS = 600  # that are read, spread over all
LARGEST_RECORDS = 100  # and these
MAX_BYTES = 96 * 2**20
GZIP = b"\x1f\x8b"
IMAGE_BEGINS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")
BOXES = b"image/object/bbox/xmin"
LIST_VALUE = 0x0A  # in the wire format
PLAIN_VALUE = 0x08
BYTES_LIST, INT64_LIST = 0x0A, 0x1A  # of the kinds of a feature


@dataclass
class Records:
    lengths: list[int] = field(default_factory=list)  # of all, in bytes
    images: list[tuple[str, int, int]] = field(default_factory=list)  # file and number, width, height
    boxes: list[int] = field(default_factory=list)


def look(paths: Iterable[str], until: float) -> Records:
    found = Records()
    places: list[tuple[str, int, int]] = []  # file, offset, length
    for path in sorted(paths):
        if len(places) < MAX_RECORDS and time.monotonic() < until:
            places += [(path, *each) for each in _places(path, MAX_RECORDS - len(places))]
    found.lengths = [length for _, _, length in places]
    read = 0
    for number in _chosen(found.lengths):
        path, offset, length = places[number]
        read += length
        if read > MAX_BYTES or time.monotonic() > until:
            break
        _look_into(path, offset, length, number, found)
    return found


def read_records(path: str, max_count: int) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each record of a file that can be read."""
    if not Path(path).is_file():
        return  # opening a pipe would wait for a writer
    places = _places(path, max_count)
    try:
        with Path(path).open("rb") as file:
            for number, (offset, length) in enumerate(places):
                file.seek(offset)
                yield number, file.read(length)
    except OSError:
        return


def _places(path: str, most: int) -> list[tuple[int, int]]:
    """Each record is its length (8 bytes), a checksum of that (4), its bytes, and a checksum of these (4)."""
    places: list[tuple[int, int]] = []
    try:
        size = Path(path).stat().st_size
        with Path(path).open("rb") as file:
            while len(places) < most:
                head = file.read(12)
                if len(head) < 12 or head[:2] == GZIP:
                    break
                length, offset = int.from_bytes(head[:8], "little"), file.tell()
                if offset + length + 4 > size:
                    break
                places.append((offset, length))
                file.seek(length + 4, os.SEEK_CUR)
    except OSError:
        pass
    return places


def _chosen(lengths: list[int]) -> list[int]:
    spread = range(0, len(lengths), max(1, -(-len(lengths) // SOME_RECORDS)))
    large = sorted(range(len(lengths)), key=lambda number: -lengths[number])[:LARGEST_RECORDS]
    return sorted({*spread, *large})


def _look_into(path: str, offset: int, length: int, number: int, found: Records) -> None:
    try:
        with Path(path).open("rb") as file:
            file.seek(offset)
            data = file.read(length)
    except OSError:
        return
    size = read_image_size(data)
    if size is not None:
        found.images.append((f"{path}[{number}]", *size))
        boxes = count_boxes(data)
        if boxes is not None:
            found.boxes.append(boxes)


def read_image_size(data: bytes) -> tuple[int, int] | None:
    places = [place for beginning in IMAGE_BEGINS if (place := data.find(beginning)) >= 0]
    if not places:
        return None
    header = parse_header_within(BytesIO(data), min(places))
    return (header.width, header.height) if header.width and header.height else None


def find_image(data: bytes) -> bytes | None:
    """The first image of a record, as long as the record says that it is; None where that cannot be told."""
    places = [place for beginning in IMAGE_BEGINS if (place := data.find(beginning)) >= 0]
    at = min(places, default=0)
    for size in range(1, 6):  # its length stands before it, in so many bytes, behind the tag of a list's value
        begins = at - size
        if begins > 0 and data[begins - 1] == LIST_VALUE:
            length, ends = read_varint(data, begins)
            if ends == at and at + length <= len(data):
                return data[at : at + length]
    return None


def count_boxes(data: bytes) -> int | None:
    """How many numbers the list of left edges holds; None where there is no such list."""
    at = data.find(BOXES)
    if at < 0:
        return None
    at += len(BOXES)
    length = 0
    for tag in (0x12, 0x12, 0x0A):  # the value of the entry; its list of floats; the floats, packed
        if data[at : at + 1] != bytes([tag]):
            return None
        length, at = read_varint(data, at + 1)
        if not length:
            return 0
    return length // 4


def read_numbers(data: bytes, key: bytes) -> list[int] | None:
    """The whole numbers of a feature of a record, none where it has no such feature; None where they cannot be read."""
    found = _feature(data, key)
    if found is None:
        return []
    kind, values = found
    numbers: list[int] = []
    at = 0
    while kind == INT64_LIST and at < len(values):
        tag, at = read_varint(values, at)
        if tag == LIST_VALUE:  # packed
            length, at = read_varint(values, at)
            ends = at + length
            while at < min(ends, len(values)):
                number, at = read_varint(values, at)
                numbers.append(number)
        elif tag == PLAIN_VALUE:
            number, at = read_varint(values, at)
            numbers.append(number)
        else:
            return None
    return [number - 2**64 if number >= 2**63 else number for number in numbers] if kind == INT64_LIST else None


def read_texts(data: bytes, key: bytes) -> list[bytes] | None:
    """The texts of a feature of a record, none where it has no such feature; None where they cannot be read."""
    found = _feature(data, key)
    if found is None:
        return []
    kind, values = found
    texts, at = [], 0
    while kind == BYTES_LIST and at < len(values):
        tag, at = read_varint(values, at)
        length, at = read_varint(values, at)
        if tag != LIST_VALUE:
            return None
        texts.append(values[at : at + length])
        at += length
    return texts if kind == BYTES_LIST else None


def _feature(data: bytes, key: bytes) -> tuple[int, bytes] | None:
    """The kind of list that a feature is, and the list. An entry of the map is its key (tag, length, bytes), then its value."""
    at = data.find(bytes([LIST_VALUE, len(key)]) + key + b"\x12")
    if at < 0:
        return None
    length, at = read_varint(data, at + len(key) + 3)
    feature = data[at : at + length]
    if not feature:
        return None
    kind, at = read_varint(feature, 0)
    length, at = read_varint(feature, at)
    return kind, feature[at : at + length]


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of the wire format, and where it ends."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            break
    return value, at
