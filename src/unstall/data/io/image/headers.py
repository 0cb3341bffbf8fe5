"""The kind and size of an image from its first bytes, without decoding it: 20 µs rather than 5 ms."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from unstall.storage.bucket_path import BucketPath

if TYPE_CHECKING:  # it brings NumPy, which the watcher does without
    from unstall.data.example import ImageSource

FIRST_BYTES = 4096  # enough for every format but a JPEG with a large profile or thumbnail before its size
IN_BUCKET_BYTES = 32 * 1024  # a second request would take longer than more bytes
MAX_SEGMENTS = 1_000  # of a JPEG before its size: a real one has a dozen
# Start of frame in a JPEG: C0 to CF, but for C4 (tables), C8 (reserved) and CC (arithmetic tables).
FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
EXIF_MARKER = 0xE1
EXIF_BYTES = 2048  # of such a segment: the first directory stands at its beginning
ORIENTATION = 0x0112
ON_SIDE = 5  # orientations from here on exchange width and height
ALONE_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})  # without a length


@dataclass(frozen=True, slots=True)
class Header:
    kind: str  # 'jpeg', 'png', 'gif', 'bmp', 'webp', 'tiff'; empty: none that is known
    width: int = 0  # as it is stored; 0 where the header does not say
    height: int = 0
    turn: int = 1  # by which EXIF says to turn it; read of JPEGs alone

    @property
    def seen_size(self) -> tuple[int, int]:
        """Width and height of the image as a person sees it."""
        return (self.height, self.width) if self.turn >= ON_SIDE else (self.width, self.height)


def header(source: ImageSource) -> Header:
    """Of a file that cannot be opened, nothing is known."""
    try:
        if isinstance(source.path, BucketPath):
            return _header_in_bucket(source)
        with source.path.open("rb") as file:
            return header_within(file, source.offset)
    except OSError:
        return Header("")


def header_range(source: ImageSource) -> tuple[Path, int, int]:
    """For `expecting`: what `header` will ask a bucket for."""
    return source.path, source.offset, source.offset + min(IN_BUCKET_BYTES, source.length or IN_BUCKET_BYTES)


def _header_in_bucket(source: ImageSource) -> Header:
    """With one request; the whole image is read only where its size stands behind a large thumbnail."""
    assert isinstance(source.path, BucketPath)
    _, start, end = header_range(source)
    found = header_of_bytes(source.path.read_range(start, end))
    return header_of_bytes(source.read()) if found.kind and not found.width else found


def header_of_bytes(data: bytes) -> Header:
    return header_within(io.BytesIO(data), 0)


def header_within(file: BinaryIO, offset: int) -> Header:
    file.seek(offset)
    first = file.read(FIRST_BYTES)
    kind = kind_of(first)
    if kind == "jpeg":
        return _jpeg(file, offset, first)
    try:
        return Header(kind, *_SIZES[kind](first)) if kind in _SIZES else Header(kind)
    except struct.error:  # it ends within its header
        return Header(kind)


def kind_of(first: bytes) -> str:
    if first.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if first.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if first.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    if first.startswith(b"BM"):
        return "bmp"
    if first.startswith(b"RIFF") and first[8:12] == b"WEBP":
        return "webp"
    return "tiff" if first.startswith((b"II*\0", b"MM\0*")) else ""


def _jpeg(file: BinaryIO, start: int, first: bytes) -> Header:
    """Goes from segment to segment; what they hold is passed over."""
    at, turn = 2, 1
    for _ in range(MAX_SEGMENTS):
        head = first[at : at + 9]
        if len(head) < 9:
            file.seek(start + at)
            head = file.read(9)
        if len(head) < 9 or head[0] != 0xFF:
            break
        marker = head[1]
        if marker == 0xFF:  # a fill byte
            at += 1
        elif marker in ALONE_MARKERS:
            at += 2
        elif marker in FRAME_MARKERS:
            height, width = struct.unpack(">HH", head[5:9])
            return Header("jpeg", width, height, turn)
        else:
            if marker == EXIF_MARKER:
                turn = _turn(_piece(file, start, at + 4, first)) or turn
            at += 2 + max(2, int.from_bytes(head[2:4], "big"))
    return Header("jpeg")


def _piece(file: BinaryIO, start: int, at: int, first: bytes) -> bytes:
    if at + EXIF_BYTES <= len(first) or len(first) < FIRST_BYTES:
        return first[at : at + EXIF_BYTES]
    file.seek(start + at)
    return file.read(EXIF_BYTES)


def _turn(segment: bytes) -> int:
    """The orientation in a segment of EXIF; 0 where it says none, or nobody can read it."""
    if not segment.startswith(b"Exif\0\0"):
        return 0
    tiff = segment[6:]
    order = "<" if tiff[:2] == b"II" else ">"
    try:
        (at,) = struct.unpack(f"{order}I", tiff[4:8])
        (count,) = struct.unpack(f"{order}H", tiff[at : at + 2])
        for entry in range(at + 2, at + 2 + 12 * count, 12):
            (tag,) = struct.unpack(f"{order}H", tiff[entry : entry + 2])
            if tag == ORIENTATION:
                (turn,) = struct.unpack(f"{order}H", tiff[entry + 8 : entry + 10])
                return turn if 1 <= turn <= 8 else 0
    except struct.error:
        return 0
    return 0


def _png(first: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", first[16:24])
    return width, height


def _gif(first: bytes) -> tuple[int, int]:
    width, height = struct.unpack("<HH", first[6:10])
    return width, height


def _bmp(first: bytes) -> tuple[int, int]:
    """An old header has 16 bits for each; in a new one a height below 0 says that the rows stand from the top down."""
    if first[14:18] == b"\x0c\0\0\0":
        width, height = struct.unpack("<HH", first[18:22])
    else:
        width, height = struct.unpack("<ii", first[18:26])
    return abs(width), abs(height)


def _webp(first: bytes) -> tuple[int, int]:
    if first[12:16] == b"VP8X":
        low = struct.unpack("<HBHB", first[24:30])
        return 1 + low[0] + (low[1] << 16), 1 + low[2] + (low[3] << 16)
    if first[12:16] == b"VP8L":
        (bits,) = struct.unpack("<I", first[21:25])
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack("<HH", first[26:30])
    return width & 0x3FFF, height & 0x3FFF


def _tiff(first: bytes) -> tuple[int, int]:
    """Where the directory lies further back than the first bytes, the size stays unknown."""
    order = "<" if first[:1] == b"I" else ">"
    (at,) = struct.unpack(f"{order}I", first[4:8])
    (count,) = struct.unpack(f"{order}H", first[at : at + 2])
    size = {256: 0, 257: 0}
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        tag, kind = struct.unpack(f"{order}HH", first[entry : entry + 4])
        if tag in size:
            form = f"{order}H" if kind == 3 else f"{order}I"
            (size[tag],) = struct.unpack(form, first[entry + 8 : entry + 8 + struct.calcsize(form)])
    return size[256], size[257]


_SIZES = {"png": _png, "gif": _gif, "bmp": _bmp, "webp": _webp, "tiff": _tiff}
