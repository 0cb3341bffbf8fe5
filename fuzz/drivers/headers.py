"""The header of an image, of each kind."""

from __future__ import annotations

from pathlib import Path

from unstall.data.io.images import parse_header

SEEDS = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\x00\x11\x08\x00\x30\x00\x40\x03\x01\x22\0\x02\x11\x01\x03\x11\x01",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x30\x08\x02\0\0\0",
    b"GIF89a\x40\0\x30\0\0\0\0",
    b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x40\0\0\0\xd0\xff\xff\xff",
    b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x3f\0\0\x2f\0\0",
    b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x3f\xc0\x0b\0",
    b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\0\x30\0",
    b"II*\0\x08\0\0\0\x02\0\0\x01\x03\0\x01\0\0\0\x40\0\0\0\x01\x01\x04\0\x01\0\0\0\x30\0\0\0",
)
TOKENS = (
    *(b"\xff\xd8\xff", b"\xff\xc0", b"\xff\xc2", b"\xff\xda", b"\xff\xe1\xff\xff", b"\xff\xe1\0\0", b"\xff\xff\xff"),
    *(b"RIFF", b"WEBP", b"VP8X", b"II*\0", b"MM\0*", b"BM", b"IHDR"),
)


def one(data: bytes, folder: Path) -> None:
    read = parse_header(data)
    assert read.width >= 0 and read.height >= 0
    assert read.kind or not read.width
