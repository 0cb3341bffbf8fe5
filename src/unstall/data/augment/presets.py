"""The types of augmentations, and those that papers use together."""

from __future__ import annotations

from unstall.data.augment.geometric import Flip, IoUCrop, ScaleJitter, ZoomOut
from unstall.data.augment.mosaic import Mosaic
from unstall.data.augment.photometric_distort import Photometric

Geometric = Flip | IoUCrop | ScaleJitter | ZoomOut
Augmentation = Geometric | Mosaic | Photometric

SSD: tuple[Augmentation, ...] = (Photometric(), ZoomOut(), IoUCrop(), Flip())  # as in the paper
LARGE_SCALE_JITTER: tuple[Augmentation, ...] = (ScaleJitter(), Flip())  # 0.1 to 2 times, as in "Simple Copy-Paste"
