"""The types of augmentations, and those that papers use together."""

from __future__ import annotations

from unstall.data.augment.horizontal_flip import Flip
from unstall.data.augment.iou_crop import IoUCrop
from unstall.data.augment.mosaic import Mosaic
from unstall.data.augment.photometric_distort import Photometric
from unstall.data.augment.scale_jitter import ScaleJitter
from unstall.data.augment.zoom_out import ZoomOut

Geometric = Flip | IoUCrop | ScaleJitter | ZoomOut
Augmentation = Geometric | Mosaic | Photometric

SSD: tuple[Augmentation, ...] = (Photometric(), ZoomOut(), IoUCrop(), Flip())  # as in the paper
LARGE_SCALE_JITTER: tuple[Augmentation, ...] = (ScaleJitter(), Flip())  # 0.1 to 2 times, as in "Simple Copy-Paste"
