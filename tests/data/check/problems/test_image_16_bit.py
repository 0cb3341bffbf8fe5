"""16 bits for each channel."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from tests.data.check.datasets import found, photo, seen
from unstall.data.check.images import look_at_bytes
from unstall.data.check.problems.image_16_bit import propose_fixes


def png(array: np.ndarray) -> bytes:
    return bytes(cv2.imencode(".png", array)[1])


def test_grey_and_colours_in_16_bits_are_found(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    grey, colours = (random.integers(0, 65536, shape, np.uint16) for shape in ((40, 60), (40, 60, 3)))
    assert len(found("image_16_bit", seen(tmp_path, png(grey), png(colours)))) == 2


def test_mending_keeps_the_high_byte(tmp_path: Path) -> None:
    grey = np.full((40, 60), 0x7FFF, np.uint16)
    what = seen(tmp_path, png(grey), names=["a.png"])
    (fix,) = propose_fixes(what, found("image_16_bit", what))
    assert fix.image is not None and look_at_bytes(fix.image).bits == 8
    assert np.asarray(Image.open(io.BytesIO(fix.image))).max() == 0x7F


def test_8_bits_are_none(tmp_path: Path) -> None:
    assert not found(
        "image_16_bit", seen(tmp_path, photo(), photo(kind="PNG"), photo(mode="1", kind="PNG"), photo(mode="P", kind="PNG"))
    )
