"""Decompression bombs are refused before anything is decoded."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from tests.data.check.datasets import found, photo, seen, spoiled
from unstall.data.check.images import look


def png_bomb(side: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


def test_a_png_that_unfolds_to_gigabytes_is_refused(tmp_path: Path) -> None:
    assert len(found("image_too_large_to_decode", seen(tmp_path, png_bomb(60_000)))) == 1


def test_a_jpeg_that_unfolds_to_gigabytes_is_refused(tmp_path: Path) -> None:
    report = spoiled(tmp_path, "image_too_large_to_decode")
    assert set(report.found) == {"image_too_large_to_decode"}


def test_a_file_of_gigabytes_is_not_even_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    from unstall.data.example import ImageSource

    assert look(ImageSource(path)).is_refused


def test_a_large_photograph_is_none(tmp_path: Path) -> None:
    assert not found("image_too_large_to_decode", seen(tmp_path, photo(size=(6000, 4000), quality=30)))
