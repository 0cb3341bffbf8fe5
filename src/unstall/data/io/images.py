"""What the bytes of an image file say without decoding it: kind, size, orientation, whether a JPEG is whole.

The kind and size are in the first bytes: reading them takes 20 µs, decoding takes 5 ms.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from unstall.storage.bucket_path import BucketPath

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from unstall.data.example import ImageSource

    Pixels = npt.NDArray[np.uint8]

ORIENTATION_TAG = 0x0112  # the EXIF tag
UNREADABLE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    struct.error,
    zlib.error,
)

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


def read_header(source: ImageSource) -> Header:
    """Of a file that cannot be opened, nothing is known."""
    try:
        if isinstance(source.path, BucketPath):
            return _header_in_bucket(source)
        with source.path.open("rb") as file:
            return parse_header_within(file, source.offset)
    except OSError:
        return Header("")


def read_header_range(source: ImageSource) -> tuple[Path, int, int]:
    """For `expecting`: what `read_header` will ask a bucket for."""
    return source.path, source.offset, source.offset + min(IN_BUCKET_BYTES, source.length or IN_BUCKET_BYTES)


def _header_in_bucket(source: ImageSource) -> Header:
    """With one request; the whole image is read only where its size stands behind a large thumbnail."""
    assert isinstance(source.path, BucketPath)
    _, start, end = read_header_range(source)
    found = parse_header(source.path.read_range(start, end))
    return parse_header(source.read()) if found.kind and not found.width else found


def parse_header(data: bytes) -> Header:
    return parse_header_within(io.BytesIO(data), 0)


def parse_header_within(file: BinaryIO, offset: int) -> Header:
    file.seek(offset)
    first = file.read(FIRST_BYTES)
    kind = find_kind(first)
    if kind == "jpeg":
        return _jpeg(file, offset, first)
    try:
        return Header(kind, *_SIZES[kind](first)) if kind in _SIZES else Header(kind)
    except struct.error:  # it ends within its header
        return Header(kind)


def find_kind(first: bytes) -> str:
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


# Photographs that are stored lying on their side or head, with a note in their EXIF that says how to turn them.
#
# Cameras and telephones store what the sensor saw. Programs that label images show them upright, and boxes are drawn on that.
# So an image is taken as its annotation has it: where the size that it gives is that of the turned image, the image is
# turned; an image without an annotation is seen as a person sees it. Where nothing tells the two apart, it is taken as it is
# stored.


Size = tuple[int | None, int | None]  # width and height

AS_STORED = 1
MAX_EXIF_BYTES = 1 << 17  # of a file: the note stands within the first 64 KiB, behind a thumbnail of the maker's at most


def find_turn(encoded: bytes | memoryview, stored: tuple[int, int], said: Size) -> int:
    """The EXIF orientation by which the image is turned before anybody looks at its boxes; 1: not at all."""
    if said != (None, None) and (said == stored or said != stored[::-1]):
        return AS_STORED
    turn = read_orientation(bytes(encoded[:MAX_EXIF_BYTES])) if bytes(encoded[:2]) == b"\xff\xd8" else AS_STORED
    return turn if said == (None, None) or turn >= ON_SIDE else AS_STORED


def turn_size(stored: tuple[int, int], turn: int) -> tuple[int, int]:
    return stored[::-1] if turn >= ON_SIDE else stored


def turn_image(pixels: Pixels, turn: int) -> Pixels:
    """As EXIF numbers them: 6 is turned right by 90°, 8 left, 3 stands on its head; 2, 4, 5 and 7 are mirrored, too."""
    if turn >= ON_SIDE:
        pixels = pixels.transpose(1, 0, 2)
    if turn in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if turn in (3, 4, 7, 8):
        pixels = pixels[::-1]
    import numpy as np

    return np.ascontiguousarray(pixels)


# What is wrong with a JPEG, and what only looks so: for `unstall data check` and for a training alike.


END_MARK = b"\xff\xd9"
ENDS_EARLY = "Premature end of JPEG"  # as libjpeg says it
IN_GREY: dict[str, Any] = {"colorspace": "GRAY", "fastdct": True}  # to see whether it decodes, quickly
_SMALL = {"min_width": 1, "min_height": 1}
_PROGRESSIVE = 0xC2  # the marker of such a JPEG
_HARMLESS = (
    "extraneous bytes",
    "Invalid SOS parameters",
    "Unknown Adobe color transform",
    "unknown JFIF revision",
    "bad ICC marker",
)


def with_end_mark(data: bytes) -> bytes | None:
    """The same with an end mark, where that is all that it lacks: every line is there. Decoders that are strict stop at such a
    file, others warn and give the whole picture. None: more than that is missing, or it cannot be known."""
    import simplejpeg

    if _is_progressive(data):
        return None
    whole = data + END_MARK
    try:
        simplejpeg.decode_jpeg(whole, **IN_GREY, **_SMALL)
    except ValueError as error:
        return None if is_damage(str(error)) else whole
    return whole


def is_damage(warning: str) -> bool:
    """libjpeg warns of much that every decoder passes over: odd parameters, unknown revisions, bytes too many."""
    return not any(harmless in warning for harmless in _HARMLESS)


def _is_progressive(data: bytes) -> bool:
    """Then every line is there in outline long before the end, and its end mark alone tells that it is whole."""
    return any(marker == _PROGRESSIVE for marker, _, _ in list_markers(data))


def list_markers(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Kind, start and end of each part of a JPEG before its picture data."""
    place = 2
    while place + 4 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if marker in (0xDA, 0xD9) or length < 2:
            return
        yield marker, place, place + 2 + length
        place += 2 + length


def read_orientation(data: bytes) -> int:
    """The EXIF orientation of a JPEG, 1 where it has none."""
    exif = find_exif(data)
    return parse_orientation(exif[2]) if exif else 1


def find_exif(data: bytes) -> tuple[int, int, bytes] | None:
    """Start, end and content of a JPEG's EXIF part."""
    for marker, start, end in list_markers(data):
        if marker == 0xE1 and data[start + 4 : start + 10] == b"Exif\x00\x00":
            return start, end, data[start + 4 : end]
    return None


def parse_orientation(exif: bytes) -> int:
    from PIL import Image

    read = Image.Exif()
    try:
        read.load(exif)
        turn = read.get(ORIENTATION_TAG, 1)
    except UNREADABLE:
        return 1  # EXIF that nobody can read turns no image
    return turn if isinstance(turn, int) and 1 <= turn <= 8 else 1
