"""Colours change as drawn, and nothing else does."""

from __future__ import annotations

import numpy as np

from tests.data.pipeline.pictures import picture
from unstall.data.augment.augmentations import Colours, PhotometricDistort
from unstall.data.augment.rng import Rng


def test_nothing_drawn_changes_nothing() -> None:
    pixels = picture(40, 30)
    Colours().apply(pixels)
    assert np.array_equal(pixels, picture(40, 30))


def test_brightness_and_contrast_by_the_formula() -> None:
    pixels = picture(40, 30)
    Colours(brightness=10, contrast=1.5).apply(pixels)
    assert np.array_equal(pixels, np.clip(np.rint((picture(40, 30).astype(float) + 10) * 1.5), 0, 255).astype(np.uint8))


def test_no_saturation_gives_grey_and_a_whole_turn_of_hue_nearly_the_same() -> None:
    grey = picture(40, 30, row=3)
    Colours(saturation=0.0).apply(grey)
    assert (grey.max(axis=2) == grey.min(axis=2)).all()
    turned = picture(40, 30, row=3)
    Colours(hue_turns=1.0).apply(turned)
    assert np.abs(turned.astype(int) - picture(40, 30, row=3)).max() <= 8  # HSV in 8 bits


def test_it_is_applied_in_place_to_a_part_of_a_canvas() -> None:
    canvas = np.zeros((50, 60, 3), np.uint8)
    canvas[5:35, 10:50] = picture(40, 30)
    Colours(brightness=-20, saturation=1.4, hue_turns=0.04, contrast=0.7, contrast_is_last=True).apply(canvas[5:35, 10:50])
    assert not canvas[:5].any() and not canvas[35:].any() and not canvas[:, :10].any() and not canvas[:, 50:].any()
    assert not np.array_equal(canvas[5:35, 10:50], picture(40, 30))


def test_each_is_drawn_in_its_share_and_within_its_range() -> None:
    drawn = [PhotometricDistort().draw_parameters(Rng(0, 0, row)) for row in range(2000)]
    assert 900 < sum(colours.brightness != 0 for colours in drawn) < 1100
    assert 900 < sum(colours.saturation != 1 for colours in drawn) < 1100
    assert all(
        0.5 <= colours.contrast <= 1.5 and abs(colours.hue_turns) <= 0.05 and abs(colours.brightness) <= 32 for colours in drawn
    )
