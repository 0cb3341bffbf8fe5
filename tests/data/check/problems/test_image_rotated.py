"""EXIF turns, and whose boxes they are."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from tests.data.check.datasets import checked, example, facts, found, photo, spoiled
from unstall.data.check.corrected_copy import correct
from unstall.data.check.images import look_at_bytes


def turned(orientation: int, **how: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return photo(exif=exif.tobytes(), **how)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_turn_is_read_from_a_real_image(orientation: int) -> None:
    assert look_at_bytes(turned(orientation)).orientation == orientation


@pytest.mark.parametrize(
    ("size", "box", "said"),
    [
        ((480, 640), (10, 10, 60, 60), "turned image"),  # the annotation has the turned size
        ((640, 480), (10, 10, 60, 60), "as it is stored"),
        (None, (10, 500, 60, 620), "turned image"),  # only there is so much room below
        (None, (500, 10, 620, 60), "as it is stored"),
        (None, (10, 10, 60, 60), "cannot be told"),
    ],
)
def test_which_image_the_boxes_belong_to_is_judged_by_what_fits(
    size: tuple[int, int] | None, box: tuple[float, ...], said: str
) -> None:
    (finding,) = found("image_rotated", checked(example(box, size=size), images={0: facts(orientation=6)}))
    assert said in finding.message


def test_turned_boxes_are_not_called_outside() -> None:
    what = checked(example((10, 500, 60, 620), size=None), images={0: facts(orientation=6)})
    assert not found("box_outside", what) and not found("box_partly_outside", what)


def test_upright_images_are_none() -> None:
    assert not found("image_rotated", checked(example((1, 1, 9, 9)), images={0: facts(orientation=1)}))


def test_mending_turns_the_image_itself(tmp_path: Path) -> None:
    report = spoiled(tmp_path, "image_rotated")
    (finding,) = report.found["image_rotated"]
    corrected = correct(report, tmp_path)
    after = next(example for example in corrected.data.examples if example.name == finding.example)
    assert after.image is not None
    with Image.open(io.BytesIO(after.image.read())) as image:
        assert image.size == (160, 120) and image.getexif().get(0x0112, 1) == 1
