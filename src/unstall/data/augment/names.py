"""Augmentations by the names that a settings file has for them, each with its usual numbers. The names alone need no NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unstall.base.errors import InvalidInputError
from unstall.base.formatting import suggest_closest

if TYPE_CHECKING:
    from unstall.data.augment.augmentations import Augmentation

# Name to class, in the order in which those of an imported configuration are applied.
NAMED = {
    "horizontal_flip": "HorizontalFlip",
    "scale_jitter": "ScaleJitter",
    "zoom_out": "ZoomOut",
    "iou_crop": "IoUCrop",
    "photometric_distort": "PhotometricDistort",
    "mosaic": "Mosaic",
}


def create_augmentations(names: Sequence[str]) -> tuple[Augmentation, ...]:
    for name in names:
        if name not in NAMED:
            expected = f"Expected some of: {', '.join(NAMED)}."
            raise InvalidInputError(f"augmentations: there is no '{name}'.{suggest_closest(name, NAMED)} {expected}")
    return tuple(_made(NAMED[name]) for name in names)


def _made(kind: str) -> Augmentation:
    from unstall.data.augment import augmentations

    made: Augmentation = getattr(augmentations, kind)()
    return made
