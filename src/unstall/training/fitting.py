"""A detector as something that Keras's `fit` can train, on any backend: the batch goes in whole, and comes out as its losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import keras
from keras import ops

from unstall.detectors.detector import Detector, Targets
from unstall.detectors.parts.boxes import Tensor

if TYPE_CHECKING:
    from unstall.data.pipeline.batch import Batch


class Fitting(keras.Model):  # type: ignore[misc]
    """`Fitting(detector).compile(optimizer)`, then `fit` on dicts of `images`, `boxes`, `classes` and `mask`."""

    def __init__(self, detector: Detector, seed: int = 0) -> None:
        super().__init__(name=f"fitting_{detector.name}")
        self.detector = detector
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.trackers: dict[str, keras.metrics.Mean] = {}
        self.built = True

    def call(self, batch: dict[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        targets = Targets(batch["boxes"], batch["classes"], batch["mask"])
        return self.detector.training_losses(batch["images"], targets, self.seed_generator)

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Tensor:
        total = sum(y_pred.values())
        return ops.cast(total, "float32")


def fed(batch: Batch) -> dict[str, Any]:
    """What a step needs of a batch. Crowds are no single objects: no detector learns them."""
    return {"images": batch.images, "boxes": batch.boxes, "classes": batch.classes, "mask": batch.mask & ~batch.crowd}
