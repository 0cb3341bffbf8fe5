"""Every kind of image becomes RGB in 8 bits, as it is stored; what is broken or far too large is refused."""

from __future__ import annotations

import io
import os
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.data.pipeline.pictures import picture
from unstall.data.example import ImageSource
from unstall.data.pipeline import decoder
from unstall.data.pipeline.decoder import UNREADABLE, Facts, compute_decoded_shape, decode, look, read

MAX = 10_000_000


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def decoded(data: bytes) -> np.ndarray:
    return decode(data, look(data, MAX), 1)


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_jpegs_of_every_mode_become_rgb(mode: str) -> None:
    image = Image.fromarray(picture(64, 48)).convert(mode)
    pixels = decoded(encoded(image, "JPEG", quality=95))
    assert pixels.shape == (48, 64, 3) and pixels.dtype == np.uint8
    assert np.abs(pixels.astype(int) - np.asarray(image.convert("RGB"))).mean() < 4


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "P", "1"])
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF", "TIFF", "BMP"])
def test_other_kinds_and_modes_become_rgb(kind: str, mode: str) -> None:
    image = Image.fromarray(picture(64, 48)).convert(mode)
    try:
        data = encoded(image, kind)
    except OSError:
        pytest.skip(f"{kind} has no {mode}")
    pixels = decoded(data)
    assert pixels.shape == (48, 64, 3) and pixels.dtype == np.uint8
    if kind in ("PNG", "TIFF", "BMP") and mode != "P":
        assert np.array_equal(pixels, np.asarray(image.convert("RGB")))


def test_sixteen_bits_become_eight_and_keep_their_range() -> None:
    deep = (np.arange(64, dtype=np.uint16) * 1040)[None].repeat(8, axis=0)
    pixels = decoded(encoded(Image.fromarray(deep), "PNG"))
    assert np.array_equal(pixels, (deep >> 8).astype(np.uint8)[..., None].repeat(3, axis=2))


@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_exif_does_not_turn_the_image(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by a quarter
    data = encoded(Image.fromarray(picture(64, 48)), kind, exif=exif)
    assert look(data, MAX)[:2] == (64, 48)
    assert decoded(data).shape == (48, 64, 3)


@pytest.mark.parametrize("reduction", [2, 4, 8])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_jpeg_at_a_part_of_its_size_is_the_mean_of_its_pixels(reduction: int, mode: str) -> None:
    data = encoded(Image.fromarray(picture(161, 99)).convert(mode), "JPEG", quality=95)
    facts = look(data, MAX)
    small, whole = decode(data, facts, reduction), decode(data, facts, 1)
    assert small.shape == compute_decoded_shape(facts, reduction) == (-(-99 // reduction), -(-161 // reduction), 3)
    rows, columns = 99 // reduction * reduction, 161 // reduction * reduction
    blocks = whole[:rows, :columns].reshape(rows // reduction, reduction, columns // reduction, reduction, 3).mean(axis=(1, 3))
    assert np.abs(small[: rows // reduction, : columns // reduction] - blocks).mean() < 4


def test_it_decodes_into_the_place_given() -> None:
    data = encoded(Image.fromarray(picture(64, 48)), "JPEG")
    canvas = np.zeros((64, 64, 3), np.uint8)
    assert np.shares_memory(decode(data, look(data, MAX), 1, canvas[:48]), canvas)
    assert np.array_equal(canvas[:48], decoded(data)) and not canvas[48:].any()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9])
def test_a_truncated_image_is_refused(kind: str, share: float) -> None:
    data = encoded(Image.fromarray(np.random.default_rng(0).integers(0, 255, (48, 64, 3), np.uint8)), kind)
    with pytest.raises(UNREADABLE):
        decoded(data[: int(share * len(data))])


def test_a_harmless_blemish_is_not() -> None:
    """Stray bytes before the end marker: libjpeg warns, every viewer shows the image."""
    data = encoded(Image.fromarray(picture(64, 48)), "JPEG")
    assert np.array_equal(decoded(data[:-2] + b"\0\0\0\0\0" + data[-2:]), decoded(data))


def test_what_is_no_image_is_refused() -> None:
    for data in (b"", b"<html></html>", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", bytes(2000)):
        with pytest.raises(UNREADABLE):
            decoded(data)
    with pytest.raises(ValueError, match=r"it is no image that can be read; it begins with b'<html></html'"):
        decoded(b"<html></html>")


def test_a_decompression_bomb_is_refused_by_its_header() -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(bytes(10_000_000))) + chunk(b"IEND", b"")
    with pytest.raises(UNREADABLE, match=r"60000|pixels"):
        look(bomb, 100_000_000)
    jpeg = bytearray(encoded(Image.fromarray(picture(64, 48)), "JPEG"))
    at = jpeg.index(b"\xff\xc0")
    jpeg[at + 5 : at + 9] = struct.pack(">HH", 60_000, 60_000)
    with pytest.raises(ValueError, match=r"60000×60000 pixels, more than the 100,000,000 that are allowed"):
        look(bytes(jpeg), 100_000_000)


def test_a_jpeg_that_lies_about_its_size_is_refused() -> None:
    data = encoded(Image.fromarray(picture(64, 48)), "JPEG")
    with pytest.raises(ValueError, match="the header says 32×24"):
        decode(data, Facts(32, 24, False), 1)


def test_a_stretch_of_a_file_is_read_and_a_file_beyond_reason_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records"
    path.write_bytes(b"0123456789")
    assert read(ImageSource(path, 3, 4)) == b"3456" == ImageSource(path, 3, 4).read()
    assert read(ImageSource(path, 3)) == b"3456789"
    assert read(ImageSource(path, 20)) == b""
    with path.open("r+b") as file:
        os.ftruncate(file.fileno(), decoder.MAX_ENCODED_BYTES + 1)  # sparse: takes no space
    with pytest.raises(ValueError, match="bytes; of one image at most"):
        read(ImageSource(path))
