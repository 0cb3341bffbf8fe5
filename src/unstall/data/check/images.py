"""Looks at the bytes of images: kind, size, mode, EXIF turn, whether they decode whole, and what they look like.

Every image is decoded to its last line. A JPEG is decoded in grey at an eighth of its size: all of its data is read and any
cut or damage shows, at a third of the cost of a full decoding. The decoders let other threads run, so one process uses every
core.
"""

from __future__ import annotations

import io
import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from unstall.data.check.context import ImageFacts
from unstall.data.example import Example, ImageSource
from unstall.data.io import images
from unstall.data.io.images import ORIENTATION_TAG, UNREADABLE, read_orientation
from unstall.storage.bucket_path import BucketPath

LARGEST_PIXELS = 178_956_970  # beyond this Pillow refuses too: a few bytes that unfold to half a gigabyte
LARGEST_BYTES = 1 << 29  # of an encoded image; it is held in memory to be decoded
IN_BUCKET = 24  # threads: they wait for the bucket, not for a core
BLOCK = 16  # images for one task of a thread
THUMBNAIL = (36, 32)
_KINDS = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
)
_JPEG_MODES = {"Gray": "L", "YCbCr": "RGB", "RGB": "RGB", "CMYK": "CMYK", "YCCK": "CMYK"}

Grey = npt.NDArray[np.uint8]


def find_kind(data: bytes) -> str:
    """By the first bytes; empty: none that is known."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for start, kind in _KINDS if data.startswith(start)), "")


def look(source: ImageSource) -> ImageFacts:
    """Never raises: what is wrong with an image is a fact about it."""
    try:
        data, length = (None, _length(source)) if not isinstance(source.path, BucketPath) else _read_in_bucket(source)
        if length > LARGEST_BYTES:
            return ImageFacts(length, "", error=f"{length:,} bytes, at most {LARGEST_BYTES:,} are decoded", is_refused=True)
        data = source.read() if data is None else data
    except OSError as error:
        return ImageFacts(0, "", error=f"cannot be read: {error.strerror or error}")
    return look_at_bytes(data)


def _length(source: ImageSource) -> int:
    return source.length if source.length is not None else source.path.stat().st_size - source.offset


def _read_in_bucket(source: ImageSource) -> tuple[bytes, int]:
    """With one request: to ask for its size first would take as long again."""
    data = source.read()
    return data, len(data)


def look_at_bytes(data: bytes) -> ImageFacts:
    kind = find_kind(data)
    if not data:
        return ImageFacts(0, "", error="0 bytes", is_empty=True)
    if not kind:
        return ImageFacts(len(data), "", error=f"begins with {data[:8].hex(' ')}, as no image does")
    return _look_at_jpeg(data) if kind == "jpeg" else _look_with_pillow(data, kind)


def look_at_all(
    examples: Sequence[Example], advance: Callable[[int], object] = lambda count: None, threads: int | None = None
) -> dict[int, ImageFacts]:
    """By row; rows without an image are left out. `advance` is told how many more are done."""
    rows = [row for row, example in enumerate(examples) if example.image is not None]
    blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]

    def look_at_block(block: Iterable[int]) -> list[tuple[int, ImageFacts]]:
        return [(row, look(source)) for row in block if (source := examples[row].image) is not None]

    found: dict[int, ImageFacts] = {}
    threads = threads or (IN_BUCKET if _is_in_bucket(examples, rows) else len(os.sched_getaffinity(0)))
    with warnings.catch_warnings(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")  # what Pillow would print of an image becomes a fact about it
        for done in pool.map(look_at_block, blocks):
            found.update(done)
            advance(len(done))
    return found


def _is_in_bucket(examples: Sequence[Example], rows: Sequence[int]) -> bool:
    first = examples[rows[0]].image if rows else None
    return first is not None and isinstance(first.path, BucketPath)


# --- JPEG ---


def _look_at_jpeg(data: bytes) -> ImageFacts:
    import simplejpeg

    facts = ImageFacts(len(data), "jpeg")
    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(data, strict=False)
    except (ValueError, KeyError):  # a KeyError where it does not know the colours
        return _look_with_pillow(data, "jpeg")
    facts = replace(facts, width=width, height=height, mode=_JPEG_MODES.get(colours, colours), orientation=read_orientation(data))
    if width * height > LARGEST_PIXELS:
        return _refused(facts)
    grey, wrong, lacks_end_mark = _decoded_in_grey(data)
    if grey is None:
        return replace(facts, error=wrong)
    return replace(facts, error=wrong, is_truncated=bool(wrong), lacks_end_mark=lacks_end_mark, likeness=compute_likeness(grey))


def _decoded_in_grey(data: bytes) -> tuple[Grey | None, str, bool]:
    """Small, with what is wrong, and whether its end mark alone is missing; None where nothing can be made of it."""
    import simplejpeg

    small = {**images.IN_GREY, "min_width": THUMBNAIL[0], "min_height": THUMBNAIL[1]}
    try:
        return simplejpeg.decode_jpeg(data, **small)[..., 0], "", False
    except ValueError as error:
        said = _plain(error)
    whole = images.with_end_mark(data) if images.ENDS_EARLY in said else None
    if whole is not None:
        return simplejpeg.decode_jpeg(whole, strict=False, **small)[..., 0], "", True
    try:
        grey = simplejpeg.decode_jpeg(data, strict=False, **small)[..., 0]
    except ValueError as error:
        return None, _plain(error), False
    return grey, said if images.is_damage(said) else "", False


def _plain(error: Exception) -> str:
    return str(error).rpartition("(): ")[2] or type(error).__name__


# --- all others ---


def _look_with_pillow(data: bytes, kind: str) -> ImageFacts:
    from PIL import Image, UnidentifiedImageError

    facts = ImageFacts(len(data), kind)
    try:
        image = Image.open(io.BytesIO(data))
        facts = replace(facts, width=image.width, height=image.height, mode=image.mode, bits=_bits(image, data, kind))
        if image.width * image.height > LARGEST_PIXELS:
            return _refused(facts)
        chunks = _sound_chunks(data) if kind == "png" else set()
        grey = _grey_of_png(data) if chunks else None
        if grey is None:
            image.load()
            grey = _grey(image)
        has_notes = not chunks or b"eXIf" in chunks  # to ask a PNG, Pillow decodes it
        turn = image.getexif().get(ORIENTATION_TAG, 1) if has_notes else 1
        turn = turn if isinstance(turn, int) and 1 <= turn <= 8 else 1
        return replace(facts, orientation=turn, likeness=compute_likeness(grey))
    except Image.DecompressionBombError:
        return replace(facts, error=f"unfolds to more than {LARGEST_PIXELS:,} pixels", is_refused=True)
    except UnidentifiedImageError:
        return replace(facts, error=f"begins as a {kind} does, and is none")
    except UNREADABLE as error:
        cut = bool(facts.width) and any(word in str(error) for word in ("truncated", "Truncated", "unrecognized data stream"))
        return replace(facts, error=_plain(error), is_truncated=cut)


def _sound_chunks(data: bytes) -> set[bytes]:
    """The kinds of a PNG's chunks; empty where one is torn, has a wrong checksum or the last is missing."""
    place, kinds = 8, set()
    while place + 12 <= len(data):
        end = place + 8 + int.from_bytes(data[place : place + 4], "big")
        if end + 4 > len(data) or zlib.crc32(data[place + 4 : end]) != int.from_bytes(data[end : end + 4], "big"):
            break
        kinds.add(data[place + 4 : place + 8])
        if b"IEND" in kinds:
            return kinds
        place = end + 4
    return set()


def _grey_of_png(data: bytes) -> Grey | None:
    """By OpenCV, which inflates faster. It prints what is wrong instead of saying it: for sound chunks only."""
    image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        return None
    return np.asarray(cv2.cvtColor(_thinned(image), cv2.COLOR_BGR2GRAY), np.uint8)


def _bits(image: Any, data: bytes, kind: str) -> int:
    """Of each channel. Pillow makes 8 of 16 in a PNG with colours, so its header is asked."""
    if kind == "png" and len(data) > 24:
        return data[24]
    return 16 if image.mode.startswith("I;16") else 32 if image.mode in {"I", "F"} else 8


def _grey(image: Any) -> Grey:
    """Small enough to compare, 8 bits."""
    small = image.resize(THUMBNAIL, resample=0) if image.mode in {"1", "P"} else image
    array = np.asarray(small.convert("L") if not small.mode.startswith(("I", "F")) else small)
    if array.dtype != np.uint8:
        largest = float(array.max()) or 1.0
        array = (array.astype(np.float64) * (255 / largest)).clip(0, 255).astype(np.uint8)
    return array


def _refused(facts: ImageFacts) -> ImageFacts:
    said = f"{facts.width:,}×{facts.height:,} pixels out of {facts.bytes:,} bytes; at most {LARGEST_PIXELS:,} pixels are decoded"
    return replace(facts, error=said, is_refused=True)


# --- likeness ---


def compute_likeness(grey: Grey) -> int:
    """64 bits: whether it grows brighter from each of 9 columns to the next, in 8 rows."""
    small = cv2.resize(_thinned(grey), (9, 8), interpolation=cv2.INTER_AREA)
    return int.from_bytes(np.packbits(small[:, 1:] > small[:, :-1]).tobytes(), "big")


def _thinned(image: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """As many pixels as tell what it looks like: to average millions takes longer."""
    step = max(1, min(image.shape[0] // 64, image.shape[1] // 72))
    return np.ascontiguousarray(image[::step, ::step])


def create_thumbnail(source: ImageSource) -> npt.NDArray[np.float32] | None:
    """A small grey picture to compare closely; None where the image cannot be decoded."""
    try:
        data = source.read()
    except OSError:
        return None
    facts = look_at_bytes(data)
    if facts.error:
        return None
    if facts.kind == "jpeg" and facts.likeness is not None:
        grey, _, _ = _decoded_in_grey(data)
    else:
        from PIL import Image

        grey = _grey(Image.open(io.BytesIO(data)))
    return None if grey is None else cv2.resize(grey, (32, 32), interpolation=cv2.INTER_AREA).astype(np.float32)
