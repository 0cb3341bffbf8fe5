"""Bytes that are no image."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import checked, example, found, photo, seen
from unstall.data.check.images import look_at_all
from unstall.data.example import ImageSource


@pytest.mark.parametrize(
    "data",
    [
        b"<html>404</html>",
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xe0" + b"\x00" * 50,
        b"\x89PNG\r\n\x1a\n" + b"\x01" * 40,
        b"BM" + b"\x07" * 60,
        b"\x00" * 100,
    ],
)
def test_what_decodes_to_nothing_is_found(tmp_path: Path, data: bytes) -> None:
    assert len(found("image_unreadable", seen(tmp_path, data))) == 1


def test_a_folder_in_place_of_an_image_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").mkdir()
    examples = [example(image=ImageSource(tmp_path / "a.jpg"))]
    assert len(found("image_unreadable", checked(*examples, images=look_at_all(examples)))) == 1


def test_images_of_every_kind_and_mode_are_none(tmp_path: Path) -> None:
    kinds = [photo(kind=kind) for kind in ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF")]
    modes = [photo(mode=mode, kind="PNG") for mode in ("L", "RGBA", "P", "1", "I;16", "LA")]
    assert not found("image_unreadable", seen(tmp_path, *kinds, *modes, photo(mode="CMYK"), photo(mode="L")))


def test_an_empty_or_cut_image_has_a_name_of_its_own(tmp_path: Path) -> None:
    whole = photo(size=(320, 240))
    assert not found("image_unreadable", seen(tmp_path, b"", whole[: len(whole) // 2]))
