"""Sizes from the first bytes agree with a real decoder's, and broken headers give none."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tests.data.dataset_files import picture, put
from unstall.data.example import ImageSource
from unstall.data.io.images import Header, parse_header, read_header

KINDS = ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (300, 1000)])
def test_the_size_of_each_kind(kind: str, size: tuple[int, int]) -> None:
    assert parse_header(picture(*size, kind)) == Header(kind.lower(), *size)


@pytest.mark.parametrize("options", [{"lossless": True}, {"exact": True, "quality": 10}])
def test_the_kinds_of_webp(options: dict[str, object]) -> None:
    for mode in ("RGB", "RGBA"):
        out = io.BytesIO()
        Image.new(mode, (33, 21)).save(out, "WEBP", **options)
        assert parse_header(out.getvalue()) == Header("webp", 33, 21)


def test_a_jpeg_with_more_before_its_size_than_is_read_at_first() -> None:
    out = io.BytesIO()
    Image.new("RGB", (50, 40)).save(out, "JPEG", exif=b"Exif\0\0" + b"x" * 60_000, icc_profile=b"y" * 200_000, progressive=True)
    assert parse_header(out.getvalue()) == Header("jpeg", 50, 40)


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_cut_short_gives_no_size_and_no_error(kind: str) -> None:
    whole = picture(64, 48, kind)
    for length in range(min(len(whole), 700)):
        read = parse_header(whole[:length])
        assert (read.width, read.height) in {(0, 0), (64, 48), (64, 0), (0, 48)}


@given(
    st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"RIFF1234WEBP", b"II*\0", b"MM\0*", b""]),
    st.binary(max_size=3000),
)
def test_any_bytes_give_a_header(first: bytes, rest: bytes) -> None:
    read = parse_header(first + rest)
    assert read.width >= 0 and read.height >= 0


def test_a_stretch_of_a_file_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    put(tmp_path, {"x.record": b"before" + picture(9, 8)})
    assert read_header(ImageSource(tmp_path / "x.record", 6)) == Header("jpeg", 9, 8)
    assert read_header(ImageSource(tmp_path / "gone.jpg")) == Header("")
