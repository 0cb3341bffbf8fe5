"""Which of several record files is damaged at the byte that an error names."""

import struct
from pathlib import Path

import pytest

from unstall.data.io.tfrecord_file import masked_crc
from unstall.journal.events import DataChecked, ErrorRaised
from unstall.sensors import record_files


def record(data: bytes) -> bytes:
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked_crc(head)) + data + struct.pack("<I", masked_crc(data))


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """Three files of three records; each begins its last record at another byte."""
    paths = [tmp_path / f"train-{number}.record" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(record(bytes(100 + number)) for _ in range(3)))
    return paths


def look(shards: list[Path], offset: int, words: str = "truncated") -> DataChecked | None:
    error = ErrorRaised(message=f" {words} record at {offset}' failed with Read less bytes than requested")
    return record_files.look(error, [path.name for path in shards], str(shards[0].parent))


def test_a_file_that_is_cut_off_is_found(shards: list[Path]) -> None:
    shards[1].write_bytes(shards[1].read_bytes()[:-30])
    checked = look(shards, 2 * 117)
    assert checked is not None and checked.damaged == [str(shards[1])] and (checked.looked_at, checked.num_damaged) == (3, 1)


@pytest.mark.parametrize("at", [118, 118 + 12])  # where the record begins, or its data
@pytest.mark.parametrize("byte", [2, 9, 50, 113])
def test_a_wrong_checksum_is_found(byte: int, at: int, shards: list[Path]) -> None:
    content = bytearray(shards[2].read_bytes())
    content[118 + byte] ^= 1
    shards[2].write_bytes(content)
    checked = look(shards, at, "corrupted")
    assert checked is not None and checked.damaged == [str(shards[2])]


def test_no_file_is_named_where_none_is_damaged_there(shards: list[Path]) -> None:
    checked = look(shards, 117)
    assert checked is not None and checked.num_damaged == 0


def test_nothing_is_said_where_one_cannot_be_looked_at(shards: list[Path]) -> None:
    shards[1].write_bytes(shards[1].read_bytes()[:-30])
    shards[0].unlink()
    assert look(shards, 2 * 117) is None
    assert record_files.look(ErrorRaised(message="no space left"), [str(shards[1])], "") is None
