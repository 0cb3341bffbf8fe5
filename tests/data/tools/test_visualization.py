"""Pictures with boxes: in their place, marked, and possible for every image that is broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.data.check.datasets import example, photo
from unstall.base.errors import InvalidInputError
from unstall.data.example import ImageSource
from unstall.data.tools.visualization import MARK, choose_colour, draw_boxes, draw_sheet, load_font, save


def test_a_box_is_drawn_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(photo(size=(200, 100), kind="PNG"))
    one = example((50, 40, 150, 80), size=(200, 100), image=ImageSource(tmp_path / "a.png"))
    drawn = np.asarray(draw_boxes(one, ["cat"], 200, marked=[0]))
    red = (drawn == MARK).all(axis=2)
    assert red[40:80, 50].all() and red[40:80, 149].all() and red[79, 50:150].all()
    assert not red[:, 152:].any() and not red[82:].any()


def test_a_smaller_picture_has_smaller_boxes(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(photo(size=(400, 200)))
    one = example((0, 0, 400, 200), size=(400, 200), image=ImageSource(tmp_path / "a.jpg"))
    drawn = draw_boxes(one, ["cat"], 100, marked=[0])
    assert drawn.size == (100, 50)
    assert (np.asarray(drawn)[49, :90] == MARK).all()


@pytest.mark.parametrize(
    "data", [b"", b"<html>", photo(size=(320, 240))[:3000], photo(mode="CMYK"), photo(mode="I;16", kind="PNG")]
)
def test_a_broken_or_odd_image_still_gives_a_picture(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.jpg").write_bytes(data)
    one = example((10, 10, 30, 30), (float("nan"), 0, 1, 1), (50, 50, 9, 9), size=(64, 48), image=ImageSource(tmp_path / "a.jpg"))
    assert max(draw_boxes(one, ["cat"], 120).size) <= 120
    assert draw_boxes(example((1, 1, 9, 9), size=None), [], 120).size == (120, 120)


def test_a_frame_shows_what_reaches_out() -> None:
    plain = draw_boxes(example((-50, 10, 60, 60), size=(200, 100)), ["cat"], 200)
    framed = draw_boxes(example((-50, 10, 60, 60), size=(200, 100)), ["cat"], 200, marked=[0], has_frame=True)
    assert plain.size == (200, 100) and framed.width >= 300
    assert (np.asarray(framed) == MARK).all(axis=2).any()
    assert draw_boxes(example((5, 10, 60, 60), size=(200, 100)), ["cat"], 200, marked=[0], has_frame=True).size == (200, 100)


def test_classes_have_colours_of_their_own() -> None:
    assert len({choose_colour(number) for number in range(20)}) == 20 and MARK not in {
        choose_colour(number) for number in range(200)
    }


def test_a_sheet_holds_all_pictures_and_bad_paths_are_told(tmp_path: Path) -> None:
    pictures = [(f"{number}.jpg", Image.new("RGB", (50, 30), (number, 200, 0))) for number in range(5)]
    whole = draw_sheet(pictures, 2, 50)
    assert whole.size == (2 * 62, 3 * 76)
    save(whole, tmp_path / "sheet.jpg")
    with pytest.raises(InvalidInputError, match="Cannot write the picture"):
        save(whole, tmp_path / "no" / "sheet.png")


@pytest.mark.parametrize("letters", ["äöüßéñł", "жяλΩ", "ığşçő"])
def test_letters_of_other_alphabets_are_drawn_and_not_the_sign_of_a_missing_one(letters: str) -> None:
    def drawn(text: str) -> bytes:
        page = Image.new("L", (40, 24))
        ImageDraw.Draw(page).text((2, 2), text, 255, load_font())
        return page.tobytes()

    missing = drawn("\U000f0000")  # of no alphabet
    assert all(drawn(letter) != missing for letter in letters)
    assert len({drawn(letter) for letter in letters}) == len(letters)
