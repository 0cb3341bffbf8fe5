"""What every detector is: images in, boxes out; and, with the boxes that are there, losses."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from unstall.data.augment.view import Resize
from unstall.detectors.parts.boxes import Tensor
from unstall.detectors.parts.nms import Detections


class Targets(NamedTuple):
    """What is to be found, padded to a fixed number of boxes. An image may have none."""

    boxes: Tensor  # (batch, most, 4) left, top, right, bottom in pixels of the input
    classes: Tensor  # (batch, most) from 0; anything where there is no box
    mask: Tensor  # (batch, most) whether there is a box


class Detector(keras.Model):  # type: ignore[misc]
    """A subclass builds its layers in `__init__`, named by torchvision's keys, and calls `self.build_all()` last.

    `self(images)` gives the raw outputs; all tensors are of fixed shape, so that a step compiles once.
    """

    resize: Resize = "letterbox"  # how images are brought to its size: as they were in training

    def __init__(self, settings: Any, mean: tuple[float, ...], std: tuple[float, ...], name: str) -> None:
        super().__init__(name=name)
        self.settings = settings
        self._mean, self._std = (np.asarray(values, np.float32) * 255 for values in (mean, std))

    def prepared(self, images: Tensor) -> Tensor:
        """Pixels 0 to 255 (uint8, as the pipeline gives them, or float) normalised, on the device."""
        pixels = ops.cast(images, "float32")
        return ops.cast((pixels - self._mean) / self._std, self.compute_dtype)

    def build_all(self) -> None:
        """Makes every variable, by one call on an empty image."""
        height, width = self.settings.image_px
        self(np.zeros((1, height, width, 3), np.float32))

    @abstractmethod
    def training_losses(self, images: Tensor, targets: Targets, seed: Any = None) -> dict[str, Tensor]:
        """Named scalars in float32, finite whatever the batch holds; their sum is what is minimised. `seed` is a
        keras.random.SeedGenerator, for detectors that sample."""

    @abstractmethod
    def detect(self, images: Tensor, sizes: Tensor | None = None) -> Detections:
        """In evaluation mode. `sizes` (batch, 2): height and width of what is not padding, to which boxes are cut."""
