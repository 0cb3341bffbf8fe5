"""Grey images among coloured ones."""

from __future__ import annotations

from pathlib import Path

from tests.data.check.datasets import found, photo, seen


def test_one_grey_image_among_coloured_ones_is_a_note(tmp_path: Path) -> None:
    (finding,) = found("image_grey", seen(tmp_path, photo(), photo(1), photo(mode="L")))
    assert finding.example == "2.jpg"


def test_a_grey_data_set_is_none(tmp_path: Path) -> None:
    assert not found("image_grey", seen(tmp_path, photo(mode="L"), photo(1, mode="L"), photo(2)))


def test_coloured_images_are_none(tmp_path: Path) -> None:
    assert not found("image_grey", seen(tmp_path, photo(), photo(mode="P", kind="PNG")))
