"""What is wrong with a JPEG, and what only looks so: for `unstall data check` and for a training alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    return any(marker == _PROGRESSIVE for marker, _, _ in markers(data))


def markers(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Kind, start and end of each part of a JPEG before its picture data."""
    place = 2
    while place + 4 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], int.from_bytes(data[place + 2 : place + 4], "big")
        if marker in (0xDA, 0xD9) or length < 2:
            return
        yield marker, place, place + 2 + length
        place += 2 + length
