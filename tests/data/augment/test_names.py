"""Augmentations by the names that settings have for them."""

from __future__ import annotations

import pytest

from unstall.base.errors import InvalidInputError
from unstall.data.augment.augmentations import HorizontalFlip, IoUCrop, Mosaic, PhotometricDistort, ScaleJitter, ZoomOut
from unstall.data.augment.names import create_augmentations


def test_each_name_has_its_augmentation() -> None:
    names = ("horizontal_flip", "scale_jitter", "zoom_out", "iou_crop", "photometric_distort", "mosaic")
    assert tuple(map(type, create_augmentations(names))) == (
        HorizontalFlip,
        ScaleJitter,
        ZoomOut,
        IoUCrop,
        PhotometricDistort,
        Mosaic,
    )


def test_a_wrong_name_is_refused_with_the_nearest_right_one() -> None:
    with pytest.raises(InvalidInputError, match=r"there is no 'mosiac'. Did you mean 'mosaic'\?"):
        create_augmentations(["horizontal_flip", "mosiac"])
