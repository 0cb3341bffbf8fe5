"""Names that say another type than the bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.check.datasets import found, photo, seen
from unstall.data.check.problems.image_type_wrong import propose_fixes


@pytest.mark.parametrize(("kind", "name"), [("PNG", "a.jpg"), ("JPEG", "a.png"), ("WEBP", "a.jpeg"), ("BMP", "a.JPG")])
def test_a_wrong_ending_is_found_and_mended_by_the_right_one(tmp_path: Path, kind: str, name: str) -> None:
    what = seen(tmp_path, photo(kind=kind), names=[name])
    (fix,) = propose_fixes(what, found("image_type_wrong", what))
    assert fix.name == {"PNG": "a.png", "JPEG": "a.jpg", "WEBP": "a.webp", "BMP": "a.bmp"}[kind]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("JPEG", "a.JPEG"), ("JPEG", "a.jfif"), ("PNG", "a.PNG"), ("TIFF", "a.tif"), ("JPEG", "a"), ("JPEG", "a.image")],
)
def test_a_right_ending_or_none_is_silent(tmp_path: Path, kind: str, name: str) -> None:
    assert not found("image_type_wrong", seen(tmp_path, photo(kind=kind), names=[name]))


def test_what_is_no_image_has_no_type(tmp_path: Path) -> None:
    assert not found("image_type_wrong", seen(tmp_path, b"<html>"))
