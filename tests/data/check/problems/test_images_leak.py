"""Near-identical images in two splits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.data.check.datasets import found, photo, seen
from unstall.data.check.context import CheckedData


def split(what: CheckedData, *splits: str) -> CheckedData:
    examples = [replace(example, split=name) for example, name in zip(what.data.examples, splits, strict=True)]
    return CheckedData(replace(what.data, examples=examples), what.images)


def test_the_same_picture_saved_again_in_another_split_is_found(tmp_path: Path) -> None:
    pictures = (photo(1, (320, 240)), photo(2, (320, 240)), photo(1, (320, 240), quality=60))
    (finding,) = found("images_leak", split(seen(tmp_path, *pictures), "train", "val", "val"))
    assert finding.example == "2.jpg" and "0.jpg" in finding.message


def test_other_pictures_are_none(tmp_path: Path) -> None:
    what = seen(tmp_path, *(photo(seed, (160, 120)) for seed in range(60)))
    assert not found("images_leak", split(what, *(["train", "val"] * 30)))


def test_the_same_picture_twice_in_one_split_is_no_leak(tmp_path: Path) -> None:
    assert not found("images_leak", split(seen(tmp_path, photo(1), photo(1), photo(2)), "train", "train", "val"))


def test_without_splits_there_is_no_leak(tmp_path: Path) -> None:
    assert not found("images_leak", seen(tmp_path, photo(1), photo(1)))


def test_flat_images_say_nothing(tmp_path: Path) -> None:
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (64, 64), (90, 90, 90)).save(out, "JPEG")
    assert not found("images_leak", split(seen(tmp_path, out.getvalue(), out.getvalue()), "train", "val"))
