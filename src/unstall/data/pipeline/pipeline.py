"""From examples to batches of fixed shape, the same on every backend.

    pipeline = Pipeline(data, Settings(batch_size=16, augmentations=SSD, seed=7))
    for batch in pipeline.batches(epoch=3, from_step=120):
        ...

The order and every draw are functions of (seed, epoch, row), so a pipeline has no state worth saving: (epoch, step) is all that a
checkpoint needs to go on with exactly the batches that would have come.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from unstall.data.example import DataSet
from unstall.data.pipeline.batch import compute_batch_bytes
from unstall.data.pipeline.cache import open_cache
from unstall.data.pipeline.image_loader import SkippedExamples
from unstall.data.pipeline.mapper import ExampleMapper
from unstall.data.pipeline.sampler import Order
from unstall.data.pipeline.settings import PipelineSettings
from unstall.data.pipeline.threads_engine import Batches

if TYPE_CHECKING:
    from unstall.data.pipeline.tfdata_engine import TensorFlowBatches


class Pipeline:
    """Reads nothing and starts nothing before batches are asked for. What was found bad, and what was cached, it remembers."""

    def __init__(self, data: DataSet, settings: PipelineSettings, never: Collection[int] = ()) -> None:
        """In training, others take the places of the rows in `never`: the rest of the order stays as it would be with them."""
        self.data, self.settings = data, settings
        self.skipped = SkippedExamples(data, settings.max_bad_fraction, never)
        whole = settings.batch_size * settings.world_size
        self._order = Order(len(data.examples), whole, settings.seed, settings.for_training, settings.rank, settings.world_size)
        self._cache = open_cache(settings.cache_bytes, settings.cache_dir)
        self._maker = ExampleMapper(data, settings, self.skipped, self._cache)

    @property
    def steps_per_epoch(self) -> int:
        return self._order.steps_per_epoch

    def list_all_rows(self, epoch: int, step: int) -> list[int]:
        """The rows of a step's whole batch, those of other workers too, as the order has them."""
        return [int(row) for row in self._order.list_all_rows(epoch, step) if row >= 0]

    def batches(self, epoch: int = 0, from_step: int = 0, epochs: int | None = 1) -> Batches | TensorFlowBatches:
        """From that step of that epoch on. `epochs` counts that epoch too; None goes on for ever."""
        if self.settings.engine == "threads":
            return self._threads(epoch, from_step, epochs, self.settings.prefetch_bytes)
        from unstall.data.pipeline.tfdata_engine import TensorFlowBatches

        return TensorFlowBatches(self.settings, *self._for_tensorflow(epoch, from_step, epochs))

    def dataset(self, epoch: int = 0, from_step: int = 0, epochs: int | None = 1) -> Any:
        """The same as a tf.data.Dataset of dicts, for a program that fetches inside TensorFlow's graph."""
        from unstall.data.pipeline.tfdata_engine import wrap_as_dataset

        return wrap_as_dataset(self.settings, *self._for_tensorflow(epoch, from_step, epochs))

    def _for_tensorflow(self, epoch: int, from_step: int, epochs: int | None) -> tuple[Callable[[], Batches], int | None]:
        from unstall.data.pipeline.tfdata_engine import HELD_BY_TENSORFLOW

        self._order.steps(epoch, from_step, epochs)  # a wrong step is refused now, not in TensorFlow's thread
        prefetch_bytes = self.settings.prefetch_bytes - HELD_BY_TENSORFLOW * compute_batch_bytes(self.settings)
        steps = None if epochs is None else epochs * self.steps_per_epoch - from_step
        return lambda: self._threads(epoch, from_step, epochs, prefetch_bytes), steps

    def _threads(self, epoch: int, from_step: int, epochs: int | None, prefetch_bytes: int) -> Batches:
        import cv2

        # There is a worker for each core: threads that OpenCV starts within each of them would only be in the way.
        cv2.setNumThreads(1)
        start = (epoch, from_step, epochs)
        return Batches(self.data, self.settings, self._maker, self.skipped, self._cache, self._order, start, prefetch_bytes)
