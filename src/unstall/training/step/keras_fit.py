"""A detector as something that Keras's `fit` can train, on any backend: the batch goes in whole, and comes out as its losses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import keras
from keras import ops

from unstall.detectors.detector import Detector, Targets
from unstall.detectors.layers.boxes import Tensor

if TYPE_CHECKING:
    from unstall.data.pipeline.batch import Batch


class Fitting(keras.Model):  # type: ignore[misc]
    """`Fitting(detector).compile(optimizer)`, then `fit` on dicts of `images`, `boxes`, `classes` and `mask`.

    Each loss is shown as a metric, `class_loss` and `box_loss` say, the mean over the epoch.
    """

    def __init__(self, detector: Detector, seed: int = 0) -> None:
        super().__init__(name=f"fitting_{detector.name}", dtype="float32")
        self.detector = detector
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.means = [keras.metrics.Mean(f"{name}_loss") for name in detector.loss_names]
        self.built = True

    def call(self, batch: dict[str, Tensor], training: bool | None = None) -> dict[str, Tensor]:
        targets = Targets(batch["boxes"], batch["classes"], batch["mask"])
        return self.detector.training_losses(batch["images"], targets, self.seed_generator, training=bool(training))

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Tensor:
        return ops.cast(sum(y_pred.values()), "float32")

    def compute_metrics(self, x: Any, y: Any, y_pred: dict[str, Tensor], sample_weight: Any = None) -> dict[str, Any]:
        for name, mean in zip(self.detector.loss_names, self.means, strict=True):
            mean.update_state(y_pred[name])
        result: dict[str, Any] = self.get_metrics_result()
        return result


def feed(batches: Iterable[Batch]) -> Iterator[tuple[dict[str, Any]]]:
    """As `fit` takes a generator: each in a tuple, which has no second member, as there is nothing to compare with."""
    return ((select_inputs(batch),) for batch in batches)


def select_inputs(batch: Batch) -> dict[str, Any]:
    """What a step needs of a batch. Crowds are no single objects: no detector learns them."""
    return {"images": batch.images, "boxes": batch.boxes, "classes": batch.classes, "mask": batch.mask & ~batch.crowd}
