"""The types of augmentations, and those that papers use together."""

from __future__ import annotations

from unstall.data.augment.geometric import HorizontalFlip, IoUCrop, ScaleJitter, ZoomOut
from unstall.data.augment.mosaic import Mosaic
from unstall.data.augment.photometric_distort import PhotometricDistort

Geometric = HorizontalFlip | IoUCrop | ScaleJitter | ZoomOut
Augmentation = Geometric | Mosaic | PhotometricDistort

SSD: tuple[Augmentation, ...] = (PhotometricDistort(), ZoomOut(), IoUCrop(), HorizontalFlip())  # as in the paper
LARGE_SCALE_JITTER: tuple[Augmentation, ...] = (ScaleJitter(), HorizontalFlip())  # 0.1 to 2 times, as in "Simple Copy-Paste"
