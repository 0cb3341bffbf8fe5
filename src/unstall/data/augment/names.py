"""Augmentations by the names that a settings file has for them, each with its usual numbers."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from unstall.base.errors import InvalidInputError
from unstall.data.augment import Augmentation, Flip, IoUCrop, Mosaic, Photometric, ScaleJitter, ZoomOut

NAMED: dict[str, Augmentation] = {
    "horizontal_flip": Flip(),
    "scale_jitter": ScaleJitter(),
    "zoom_out": ZoomOut(),
    "iou_crop": IoUCrop(),
    "photometric_distort": Photometric(),
    "mosaic": Mosaic(),
}


def augmentations(names: Sequence[str]) -> tuple[Augmentation, ...]:
    for name in names:
        if name not in NAMED:
            near = difflib.get_close_matches(name, NAMED, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise InvalidInputError(f"augmentations: there is no '{name}'.{hint} Expected some of: {', '.join(NAMED)}.")
    return tuple(NAMED[name] for name in names)
