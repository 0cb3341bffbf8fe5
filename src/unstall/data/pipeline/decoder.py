"""Encoded bytes to RGB pixels: as the image is stored, or as its EXIF turns it where its boxes are those of the turned image.

JPEGs go through simplejpeg (libjpeg-turbo): it writes straight into the batch, decodes at 1/2, 1/4 or 1/8, lets go of the
interpreter's lock and refuses damaged data, where OpenCV gives a half-grey image and a line on stderr. Everything else, and
every JPEG it refuses, goes through Pillow, which knows all modes and tells a truncated image from one with a harmless blemish;
one that lacks nothing but its end mark gets it (`data/io/images.py`).
"""

from __future__ import annotations

import io
import math
import os
import struct
import zlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from unstall.base.errors import InvalidInputError
from unstall.data.example import ImageSource
from unstall.data.io import images
from unstall.data.io.images import AS_STORED, Size, find_turn, turn_image, turn_size
from unstall.storage.bucket_path import BucketPath

try:
    import cv2
    import simplejpeg
    from PIL import Image, UnidentifiedImageError
except ImportError as missing:
    raise InvalidInputError(
        f"The pipeline needs the package {missing.name}. Install it: pip install 'unstall[data]'"
    ) from missing

Pixels = npt.NDArray[np.uint8]
Encoded = bytes | memoryview

MAX_ENCODED_BYTES = 2**30  # of one image; more is no image that anybody trains on
# What the libraries raise for broken data. Anything else ends the worker, which is replaced: nothing gets past.
UNREADABLE = (
    OSError, ValueError, SyntaxError, EOFError, MemoryError, struct.error, zlib.error, IndexError, KeyError, TypeError,
    OverflowError, NotImplementedError, RuntimeError, cv2.error, Image.DecompressionBombError,
)  # fmt: skip


class Facts(NamedTuple):
    """What the header says, as the image is seen."""

    width: int
    height: int
    is_reducible: bool  # a JPEG that decodes at a part of its size
    turn: int = AS_STORED  # the EXIF orientation by which it is turned


def read(source: ImageSource, room: Callable[[int], memoryview] = lambda count: memoryview(bytearray(count))) -> memoryview:
    """The encoded image, in what `room` gives for so many bytes. Four system calls: `open` makes nine, and each gives the
    interpreter's lock to somebody else."""
    if isinstance(source.path, BucketPath):
        return memoryview(source.read())
    file = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        count = os.fstat(file).st_size - source.offset if source.length is None else source.length
        if count > MAX_ENCODED_BYTES:
            raise ValueError(f"{count:,} bytes; of one image at most {MAX_ENCODED_BYTES:,} are read")
        encoded, done = room(max(0, count)), 0
        while done < count and (more := os.preadv(file, [encoded[done:]], source.offset + done)):
            done += more
        return encoded[:done]
    finally:
        os.close(file)


def look(encoded: Encoded, max_pixels: int) -> Facts:
    """Reads the header alone. Refuses an image that would need more memory than anything real."""
    facts = _jpeg_facts(encoded) if encoded[:2] == b"\xff\xd8" else None
    if facts is None:
        with _opened(encoded) as image:
            facts = Facts(image.width, image.height, False)
    if facts.width < 1 or facts.height < 1:
        raise ValueError(f"{facts.width}×{facts.height} pixels")
    if facts.width * facts.height > max_pixels:
        raise ValueError(f"{facts.width}×{facts.height} pixels, more than the {max_pixels:,} that are allowed")
    return facts


def read_turn(facts: Facts, encoded: Encoded, said: Size) -> Facts:
    """The same of the image as it is seen: turned, where the size that its annotation `said` is that of the turned one."""
    stored = facts.width, facts.height
    turn = find_turn(encoded, stored, said)
    return facts if turn == AS_STORED else Facts(*turn_size(stored, turn), facts.is_reducible, turn)


def compute_decoded_shape(facts: Facts, reduction: int) -> tuple[int, int, int]:
    return math.ceil(facts.height / reduction), math.ceil(facts.width / reduction), 3


def decode(encoded: Encoded, facts: Facts, reduction: int, into: Pixels | None = None) -> Pixels:
    """(height, width, 3), each side 1/reduction of the stored one, rounded up. `into` may be used, and then holds the result."""
    if facts.turn != AS_STORED:
        stored = Facts(*turn_size((facts.width, facts.height), facts.turn), facts.is_reducible)
        return turn_image(decode(encoded, stored, reduction), facts.turn)
    shape = compute_decoded_shape(facts, reduction)
    if facts.is_reducible:
        try:
            pixels: Pixels = simplejpeg.decode_jpeg(encoded, "RGB", min_height=shape[0], min_width=shape[1], buffer=into)
        except ValueError:
            pixels = _patiently(encoded)  # slower, and the better judge
    else:
        pixels = _patiently(encoded)
    if reduction > 1 and pixels.shape == (facts.height, facts.width, 3):
        pixels = np.asarray(cv2.resize(pixels, (shape[1], shape[0]), interpolation=cv2.INTER_AREA), np.uint8)
    if pixels.shape != shape:
        raise ValueError(f"the header says {shape[1]}×{shape[0]} pixels, the image has {pixels.shape[1]}×{pixels.shape[0]}")
    return pixels


def _jpeg_facts(encoded: Encoded) -> Facts | None:
    """None where simplejpeg does not read it."""
    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(encoded)
    except ValueError:
        return None
    return Facts(width, height, colours not in ("CMYK", "YCCK"))


def _opened(encoded: Encoded) -> Image.Image:
    if not len(encoded):
        raise ValueError("it has no bytes")
    try:
        return Image.open(io.BytesIO(encoded))
    except UnidentifiedImageError:  # whose message names an object in memory
        raise ValueError(f"it is no image that can be read; it begins with {bytes(encoded[:12])!r}") from None


def _patiently(encoded: Encoded) -> Pixels:
    """A JPEG that lacks its end mark alone is whole, as `unstall data check` says, too. Pillow calls it truncated."""
    try:
        return _by_pillow(encoded)
    except OSError:
        whole = images.with_end_mark(bytes(encoded)) if encoded[:2] == b"\xff\xd8" else None
        if whole is None:
            raise
        return _by_pillow(whole)


def _by_pillow(encoded: Encoded) -> Pixels:
    with _opened(encoded) as image:
        if image.mode.startswith("I"):  # 16 bits, or 32 that hold 16: the high byte is what other decoders give
            deep = np.asarray(image).astype(np.int64)
            return np.repeat(np.clip(deep >> 8, 0, 255).astype(np.uint8)[..., None], 3, axis=2)
        if image.mode == "F":
            raise ValueError("pixels are floating point; expected 8 or 16 bits")
        return np.asarray(image.convert("RGB"))
