"""What every detector is: images in, boxes out; and, with the boxes that are there, losses."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import keras
import numpy as np
from keras import ops

from unstall.data.augment.view import Resize
from unstall.detectors.parts import losses
from unstall.detectors.parts.boxes import Tensor
from unstall.detectors.parts.chance import Draw, draw_of
from unstall.detectors.parts.nms import Detections

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of pixels from 0 to 1


class Targets(NamedTuple):
    """What is to be found, padded to a fixed number of boxes. An image may have none."""

    boxes: Tensor  # (batch, most, 4) left, top, right, bottom in pixels of the input
    classes: Tensor  # (batch, most) from 0; anything where there is no box
    mask: Tensor  # (batch, most) whether there is a box


class Term(NamedTuple):
    """A loss before it is shared out, so that a batch that is computed in parts is shared by what the whole of it holds."""

    total: Tensor  # a sum over the images, in float32
    count: Tensor  # of what the sum is shared by; where that is nothing, it is shared by 1


def shared(terms: dict[str, Term]) -> dict[str, Tensor]:
    return {name: losses.share(term.total, term.count) for name, term in terms.items()}


class Detector(keras.Model):  # type: ignore[misc]
    """A subclass builds its layers in `__init__`, named by torchvision's keys, and calls `self.build_all()` last.

    `self(images)` gives the raw outputs; all tensors are of fixed shape, so that a step compiles once.
    """

    resize: ClassVar[Resize] = "letterbox"  # how images are brought to its size: as they were in training
    loss_names: ClassVar[tuple[str, ...]] = ("class", "box")  # what `training_losses` gives, in that order

    def __init__(self, settings: Any, mean: tuple[float, ...], std: tuple[float, ...], name: str) -> None:
        # The detector itself is of float32 whatever the program's policy: pixels and boxes lose nothing on their way in.
        super().__init__(name=name, dtype="float32")
        self.settings = settings
        self._mean, self._std = (np.asarray(values, np.float32) * 255 for values in (mean, std))

    def prepared(self, images: Tensor) -> Tensor:
        """Pixels 0 to 255 (uint8, as the pipeline gives them, or float) normalised, on the device."""
        return ops.divide(ops.subtract(ops.cast(images, "float32"), self._mean), self._std)

    def build_all(self) -> None:
        """Makes every variable, by one call that computes shapes and nothing else."""
        height, width = self.settings.image_px
        self(keras.KerasTensor((1, height, width, 3), dtype="float32"))

    def training_losses(self, images: Tensor, targets: Targets, seed: Any = None, training: bool = True) -> dict[str, Tensor]:
        """Scalars in float32 by `loss_names`, finite whatever the batch holds; their sum is what is minimised. `seed` is what
        `draw_of` takes, for detectors that sample. Without `training` norms use and keep what they have learned."""
        return shared(self.loss_terms(images, targets, draw_of(seed), training))

    @abstractmethod
    def loss_terms(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Term]:
        """What `training_losses` shares out. Counts take no part in the gradient."""

    @abstractmethod
    def loss_counts(self, images: Tensor, targets: Targets, draw: Draw, training: bool = True) -> dict[str, Tensor]:
        """The counts of `loss_terms` alone, with as little computed as decides them."""

    @abstractmethod
    def detect(self, images: Tensor, sizes: Tensor | None = None) -> Detections:
        """In evaluation mode. `sizes` (batch, 2): height and width of what is not padding, to which boxes are cut."""
