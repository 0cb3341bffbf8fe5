"""A detector as a Keras model that maps a batch to its losses: for shapes, gradients and comparisons, not for training."""

from __future__ import annotations

import keras

from unstall.detectors.detector import Detector, Targets
from unstall.detectors.layers.boxes import Tensor


class LossModel(keras.Model):  # type: ignore[misc]
    """Takes a dict of `images`, `boxes`, `classes` and `mask`, and returns each loss by its name."""

    def __init__(self, detector: Detector, seed: int = 0) -> None:
        super().__init__(name=f"losses_of_{detector.name}", dtype="float32")
        self.detector = detector
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.built = True

    def call(self, batch: dict[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        targets = Targets(batch["boxes"], batch["classes"], batch["mask"])
        return self.detector.training_losses(batch["images"], targets, self.seed_generator, training=bool(training))
