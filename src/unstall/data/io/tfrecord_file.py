"""TFRecord files: each record with its length and two checksums (masked CRC32C), read and written without TensorFlow."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import google_crc32c

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
