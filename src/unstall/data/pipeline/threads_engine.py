"""The batches of an epoch, made ahead by threads: the engine of every installation, and what the tf.data engine hands on."""

from __future__ import annotations

import os
import time
import weakref
from collections import deque
from types import TracebackType

import numpy as np

from unstall.base.errors import UnstallError
from unstall.data.example import DataSet
from unstall.data.pipeline.autotune import InputMeasurement, ThroughputReporter
from unstall.data.pipeline.batch import Batch, compute_batch_bytes
from unstall.data.pipeline.bucket_fetcher import create_fetcher
from unstall.data.pipeline.cache import Cache
from unstall.data.pipeline.canvas import Canvases
from unstall.data.pipeline.image_loader import SkippedExamples
from unstall.data.pipeline.mapper import ExampleMapper
from unstall.data.pipeline.sampler import Order
from unstall.data.pipeline.settings import PipelineSettings
from unstall.data.pipeline.thread_pool import END_S, InputThreadPool, PendingBatch

MAX_AHEAD = 256  # batches, however small: bytes bound them, but thousands more would be work for nothing when a run is ended
HELD = 6  # batches that a consumer may hold at once: those of steps whose numbers are still to come, and the one in hand


class Batches:
    """An iterator of batches. Closing it, or letting it go, ends its threads."""

    def __init__(
        self,
        data: DataSet,
        settings: PipelineSettings,
        maker: ExampleMapper,
        skipped: SkippedExamples,
        cache: Cache,
        order: Order,
        start: tuple[int, int, int | None],
        prefetch_bytes: int,
    ) -> None:
        self._settings, self._skipped, self._cache, self._order = settings, skipped, cache, order
        self._steps = order.steps(*start)
        self._at = start[:2]
        self._pid = os.getpid()
        self.error: UnstallError | None = None  # that ended it
        # One batch is always being made, however large it is.
        self._max_ahead = max(1, min(MAX_AHEAD, prefetch_bytes // compute_batch_bytes(settings)))
        blank = np.empty((settings.height_px, settings.width_px, 3), np.uint8)
        blank[:] = settings.fill_rgb
        self._canvases = Canvases(blank, settings.batch_size, keep=self._max_ahead + HELD)
        self._began = time.monotonic()
        self._batches, self._wait_s, self._batch_s, self._transfer_s = 0, 0.0, 0.0, 0.0
        self._boxes_left_out = 0
        self._reporter = ThroughputReporter()
        self._pending: deque[PendingBatch] = deque()
        self._fetcher = maker.fetcher = create_fetcher(data, cache)
        self._thread_pool = InputThreadPool(settings.thread_count, maker, data, skipped, settings.max_example_s)
        self._let_go = weakref.finalize(self, self._thread_pool.close)
        for _ in range(self._max_ahead):
            self._begin_next()

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        if os.getpid() != self._pid:
            raise UnstallError(
                "These batches belong to the process that asked for them. Expected: batches() called after the fork."
            )
        if not self._pending:
            self.close()
            raise StopIteration
        began = time.monotonic()
        try:
            self._thread_pool.wait_for(self._pending[0])
        except UnstallError as error:
            self.error = error
            self.close()
            raise
        made = time.monotonic()
        pending = self._pending.popleft()
        if self._fetcher is not None:
            self._fetcher.forget(pending.rows.tolist())
        batch, left_out = pending.finished(self._settings)
        self._boxes_left_out += left_out
        self._begin_next()
        self._at = batch.epoch, batch.step
        self._batches += 1
        self._wait_s += made - began
        self._batch_s += time.monotonic() - made
        if self._reporter.is_due:
            self._reporter.report(*self._at, self.measured())
        return batch

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the threads. Further batches are not given."""
        if self._let_go.detach() is not None and os.getpid() == self._pid:
            measured = self.measured()
            self._pending.clear()
            self._thread_pool.close(END_S)
            if self._fetcher is not None:
                self._fetcher.close()
            self._reporter.report(*self._at, measured)

    def moved(self, seconds: float) -> None:
        """Told by whoever moves batches to the device: how long it took."""
        self._transfer_s += seconds

    def measured(self) -> InputMeasurement:
        """What has been done up to now; as text, a summary for a person."""
        tally = self._thread_pool.tally
        return InputMeasurement(
            engine=self._settings.engine,
            workers=self._settings.thread_count,
            at_work=self._thread_pool.at_work,
            seconds=time.monotonic() - self._began,
            batches=self._batches,
            examples=tally.examples,
            read_s=tally.read_s,
            decode_s=tally.decode_s,
            augment_s=tally.augment_s,
            batch_s=self._batch_s,
            transfer_s=self._transfer_s,
            wait_s=self._wait_s,
            read_bytes=tally.read_bytes,
            ready_batches=sum(1 for pending in list(self._pending) if not pending.left),
            max_ready_batches=self._max_ahead,
            held_bytes=len(self._pending) * compute_batch_bytes(self._settings),
            cache_bytes=self._cache.bytes,
            cache_hits=tally.cache_hits,
            boxes_left_out=tally.boxes_left_out + self._boxes_left_out,
            skipped=len(self._skipped),
            replaced_workers=self._thread_pool.replaced,
        )

    def _begin_next(self) -> None:
        following = next(self._steps, None)
        if following is None:
            return
        pending = PendingBatch(self._canvases, *following, self._order.rows(*following))
        self._pending.append(pending)
        if self._fetcher is not None:
            self._fetcher.expect(pending.rows.tolist())
        self._thread_pool.begin(pending)
