"""Looking at bytes never raises, and what it says of an image is what Pillow says of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.data.check.datasets import example, photo
from unstall.data.check.images import create_thumbnail, look, look_at_all, look_at_bytes
from unstall.data.example import ImageSource

WHOLE = [photo(kind=kind) for kind in ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")] + [
    photo(mode="CMYK"),
    photo(progressive=True),
]


@pytest.mark.parametrize("data", WHOLE, ids=lambda data: data[:4].hex())
def test_kind_size_and_mode_are_those_of_the_image(data: bytes) -> None:
    facts = look_at_bytes(data)
    with Image.open(io.BytesIO(data)) as image:
        assert (facts.kind, facts.width, facts.height, facts.mode) == (str(image.format).lower(), *image.size, image.mode)
    assert not facts.error and facts.likeness is not None and facts.bytes == len(data)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(WHOLE), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=20), st.floats(0, 1))
def test_damaged_images_are_facts_and_never_errors(whole: bytes, changes: list[tuple[float, int]], kept: float) -> None:
    data = bytearray(whole[: max(1, round(kept * len(whole)))])
    for place, value in changes:
        data[min(len(data) - 1, int(place * len(data)))] = value
    facts = look_at_bytes(bytes(data))
    assert facts.error or (facts.width and facts.height)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"II*\x00", b"RIFF\x00\x00\x00\x00WEBP", b""]),
    st.binary(max_size=300),
)
def test_any_bytes_are_facts_and_never_errors(start: bytes, rest: bytes) -> None:
    facts = look_at_bytes(start + rest)
    assert facts.bytes == len(start + rest)


def test_a_stretch_of_a_file_is_an_image_too(tmp_path: Path) -> None:
    data = photo(3)
    (tmp_path / "records").write_bytes(b"before" + data + b"after")
    assert look(ImageSource(tmp_path / "records", 6, len(data))) == look_at_bytes(data)


def test_all_images_are_looked_at_and_counted(tmp_path: Path) -> None:
    examples = []
    for number in range(50):
        (tmp_path / f"{number}.jpg").write_bytes(photo(number))
        examples.append(example(name=f"{number}.jpg", image=ImageSource(tmp_path / f"{number}.jpg") if number % 10 else None))
    counted: list[int] = []
    found = look_at_all(examples, counted.append)
    assert sorted(found) == [number for number in range(50) if number % 10]
    assert sum(counted) == len(found)
    assert len({facts.likeness for facts in found.values()}) == len(found)


def test_an_image_that_is_gone_is_said_to_be(tmp_path: Path) -> None:
    facts = look(ImageSource(tmp_path / "gone.jpg"))
    assert "No such file" in facts.error
    assert create_thumbnail(ImageSource(tmp_path / "gone.jpg")) is None


def test_the_same_picture_smaller_and_coarser_looks_alike() -> None:
    one, two, other = (
        look_at_bytes(photo(seed, (320, 240), quality=quality)).likeness for seed, quality in ((1, 95), (1, 50), (2, 95))
    )
    assert one is not None and two is not None and other is not None
    assert (one ^ two).bit_count() <= 3 < (one ^ other).bit_count()
