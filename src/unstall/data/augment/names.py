"""Augmentations by the names that a settings file has for them, each with its usual numbers. The names alone need no NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from unstall.base.errors import InvalidInputError
from unstall.base.suggestions import did_you_mean

if TYPE_CHECKING:
    from unstall.data.augment.presets import Augmentation

# Name to module and class, in the order in which those of an imported configuration are applied.
NAMED = {
    "horizontal_flip": ("geometric", "HorizontalFlip"),
    "scale_jitter": ("geometric", "ScaleJitter"),
    "zoom_out": ("geometric", "ZoomOut"),
    "iou_crop": ("geometric", "IoUCrop"),
    "photometric_distort": ("photometric_distort", "PhotometricDistort"),
    "mosaic": ("mosaic", "Mosaic"),
}


def augmentations(names: Sequence[str]) -> tuple[Augmentation, ...]:
    for name in names:
        if name not in NAMED:
            expected = f"Expected some of: {', '.join(NAMED)}."
            raise InvalidInputError(f"augmentations: there is no '{name}'.{did_you_mean(name, NAMED)} {expected}")
    return tuple(_made(*NAMED[name]) for name in names)


def _made(module: str, kind: str) -> Augmentation:
    made: Augmentation = getattr(import_module(f"unstall.data.augment.{module}"), kind)()
    return made
