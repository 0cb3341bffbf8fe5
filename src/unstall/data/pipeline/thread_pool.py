"""The workers: daemon threads that make examples, in order. One that hangs or dies is named and replaced; nothing waits for ever.

Threads suffice, as reading, decoding and resizing let go of the interpreter's lock, if there are no more than help
(`autotune.py`); they share memory, start at once and leave nothing behind. A hung thread cannot be ended, only left alone: what
it still writes goes into arrays that nobody reads.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import NamedTuple

from unstall.base.errors import BucketError, UnstallError
from unstall.data.example import DataSet, Integers
from unstall.data.pipeline.autotune import Tally, ThreadAutotuner, ThroughputSample, add_tallies
from unstall.data.pipeline.batch import Batch
from unstall.data.pipeline.canvas import BatchSlot, Canvas, Canvases
from unstall.data.pipeline.decoder import Pixels
from unstall.data.pipeline.image_loader import SkippedExamples, ThreadContext
from unstall.data.pipeline.mapper import ExampleMapper
from unstall.data.pipeline.sampler import EMPTY
from unstall.data.pipeline.settings import PipelineSettings
from unstall.journal.events import WorkerReplaced
from unstall.probe.core import probe

MAX_REPLACED = 16  # workers; when as many have hung or died it is not the examples
LOOK_EVERY_S = 1.0  # after workers that hang, while the consumer waits
END_S = 2.0  # to wait, at the end, for what workers are at
MAX_END_S = 20.0  # for those that compute all the while, on a machine that is busy
END_LOOK_S = 0.5  # between two looks whether they do


class PendingBatch:
    """A batch on its way. It takes its memory when its first example is begun: while the consumer waits for batches, only those
    being made have any, and the array that was let go last, which is still in the processor's cache, is drawn into next."""

    def __init__(self, canvases: Canvases, epoch: int, step: int, rows: Integers) -> None:
        self.epoch, self.step, self.rows = epoch, step, rows
        self.left = len(rows)
        self.filled: list[BatchSlot] = [BatchSlot(EMPTY, ())] * len(rows)
        self._pool = canvases
        self._taken: tuple[Pixels, list[Canvas]] | None = None
        self._patches: dict[int, Pixels] = {}

    def canvas(self, place: int) -> Canvas:
        return self._memory()[1][place]

    def patch(self, place: int) -> Canvas:
        """To make its image again on, apart from the array that a lost worker may still write to."""
        canvas = self._pool.take_separate()
        self._patches[place] = canvas.pixels
        return canvas

    def finished(self, settings: PipelineSettings) -> tuple[Batch, int]:
        images = self._memory()[0]
        images = images.copy() if self._patches else images
        for place, patch in self._patches.items():
            images[place] = patch
        # Read only: what is blank in it now is taken to be blank when it is used again.
        images = images.view()
        images.flags.writeable = False
        return Batch.gather_rows(images, self.filled, settings, self.epoch, self.step)

    def _memory(self) -> tuple[Pixels, list[Canvas]]:
        if self._taken is None:
            self._taken = self._pool.take()
        return self._taken


class Job(NamedTuple):
    pending: PendingBatch
    place: int
    row: int
    patch: Canvas | None = None  # instead of the batch's own memory

    @property
    def canvas(self) -> Canvas:
        return self.pending.canvas(self.place) if self.patch is None else self.patch


class Worker(threading.Thread):
    """Holds the crew and never the iterator, so that an iterator that is let go ends its crew."""

    def __init__(self, number: int, thread_pool: InputThreadPool) -> None:
        super().__init__(name=f"unstall-input-{number}", daemon=True)
        self.context = ThreadContext()
        self.job: Job | None = None
        self.awaited_s = 0.0  # how long the consumer has waited while it was at its job
        self.error: BaseException | None = None
        self._thread_pool = thread_pool

    def run(self) -> None:
        try:
            filled = None
            while (given := self._thread_pool.take_next_job(self, filled)) is not None:
                job, canvas = given
                filled = self._thread_pool.maker.fill(canvas, job.pending.epoch, job.row, self.context)
                del (
                    given,
                    job,
                    canvas,
                )  # while it waits for the next it must not keep the arrays of this one from being used again
        except BucketError as failed:
            self.error = failed  # the consumer says it
        finally:  # anything else is not caught: the interpreter shows it, and the consumer names it
            self.error = self.error or sys.exc_info()[1]


class InputThreadPool:
    def __init__(self, count: int, maker: ExampleMapper, data: DataSet, skipped: SkippedExamples, max_example_s: float) -> None:
        self.maker = maker
        self.replaced = 0
        self._data, self._skipped, self._max_example_s = data, skipped, max_example_s
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._jobs: deque[Job] = deque()
        self._is_closed = False
        self._tallies: list[Tally] = []
        self._of_those_gone = Tally()
        self._numbers = iter(range(sys.maxsize))
        self._autotuner = ThreadAutotuner(count, time.monotonic())
        self._made, self._taken, self._waited_s, self._idle_s = 0, 0, 0.0, 0.0
        self._max_jobs = 0  # that there were at once
        self._workers: list[Worker] = []
        self._fill_up(self._autotuner.count)
        _thread_pools.add(self)

    @property
    def at_work(self) -> int:
        return self._autotuner.count

    @property
    def tally(self) -> Tally:
        with self._changed:
            return add_tallies([self._of_those_gone, *self._tallies])

    def begin(self, pending: PendingBatch) -> None:
        jobs = [Job(pending, place, row) for place, row in enumerate(pending.rows.tolist())]
        with self._changed:
            self._jobs.extend(jobs)
            self._max_jobs = max(self._max_jobs, len(self._jobs))
            self._changed.notify_all()

    def wait_for(self, pending: PendingBatch) -> None:
        """Until the batch is made, or an error says why it will not be."""
        pause_s = min(LOOK_EVERY_S, self._max_example_s / 4 + 0.01)
        began = looked = time.monotonic()
        with self._changed:
            self._skipped.stop_if_too_many()
            while pending.left:
                if self._is_closed:
                    raise UnstallError("The pipeline was closed while a batch was waited for.")
                self._changed.wait(pause_s)
                now = time.monotonic()
                # A process that was stopped for an hour has not waited for an hour: a look counts for two pauses at most.
                self._replace_the_lost(min(now - looked, 2 * pause_s))
                looked = now
                self._skipped.stop_if_too_many()
            self._taken += 1
            self._waited_s += looked - began
            self._autotune()

    def close(self, wait_s: float = 0.0) -> None:
        """No further example is begun; waits for those being made, so long."""
        if os.getpid() != self._pid:
            return  # a forked child has the object and not the threads
        with self._changed:
            self._is_closed = True
            self._jobs.clear()
            for worker in self._workers:
                worker.context.is_given_up = True
            self._changed.notify_all()
        until = time.monotonic() + wait_s
        for worker in self._workers:
            if wait_s and worker is not threading.current_thread():
                worker.join(max(0.0, until - time.monotonic()))

    def wait_while_working(self, max_s: float) -> None:
        """For closed workers that still compute; not for those that wait for a file or a lock, which may hang."""
        if os.getpid() != self._pid:
            return
        until = time.monotonic() + max_s
        used: dict[str, str] = {}
        while time.monotonic() < until:
            now = {worker.name: _read_cpu_time(worker) for worker in self._workers if worker.is_alive()}
            if not now or now == used:
                return
            used = now
            time.sleep(END_LOOK_S)

    # --- called by the workers ---

    def take_next_job(self, worker: Worker, filled: BatchSlot | None) -> tuple[Job, Canvas] | None:
        """Takes what the worker has made; gives it the next job, or None to end."""
        with self._changed:
            if worker.context.is_given_up:
                return None
            self._take(worker, filled)
            if self._leaves(worker):
                return None
            if not self._jobs and not self._is_closed:
                began = time.monotonic()
                while not self._jobs and not self._is_closed:
                    self._changed.wait()
                self._idle_s += time.monotonic() - began
            if self._is_closed or self._leaves(worker):
                return None
            worker.awaited_s = 0.0
            worker.job = self._jobs.popleft()
            return worker.job, worker.job.canvas  # here, as memory is taken by one at a time

    def _take(self, worker: Worker, filled: BatchSlot | None) -> None:
        job, worker.job = worker.job, None
        if job is not None and filled is not None:
            job.pending.filled[job.place] = filled
            job.pending.left -= 1
            self._made += 1
            if not job.pending.left:
                self._changed.notify_all()

    def _leaves(self, worker: Worker) -> bool:
        """If there are more than help: one that has nothing in hand is sent home."""
        if len(self._workers) <= self._autotuner.count:
            return False
        self._workers.remove(worker)
        self._tallies = [tally for tally in self._tallies if tally is not worker.context.tally]
        self._of_those_gone += worker.context.tally
        return True

    # --- called while the consumer waits, with the lock held ---

    def _autotune(self) -> None:
        behind = len(self._jobs) / self._max_jobs if self._max_jobs else 0.0
        seen = ThroughputSample(time.monotonic(), self._taken, self._made, self._waited_s, self._idle_s, behind)
        self._fill_up(self._autotuner.look(seen))

    def _fill_up(self, count: int) -> None:
        while len(self._workers) < count:
            self._workers.append(self._new_worker())

    def _new_worker(self) -> Worker:
        worker = Worker(next(self._numbers), self)
        self._tallies.append(worker.context.tally)
        worker.start()
        return worker

    def _replace_the_lost(self, waited_s: float) -> None:
        for index, worker in enumerate(self._workers):
            if worker.job is None:
                continue
            if not worker.is_alive():
                if isinstance(worker.error, BucketError):
                    raise worker.error  # no fault of the example: the others could not be read either
                self._replace(index, worker.job, f"died: {type(worker.error).__name__}: {worker.error}")
                continue
            worker.awaited_s += waited_s
            if worker.awaited_s > self._max_example_s:
                self._replace(index, worker.job, f"hung: longer than {self._max_example_s:g} s at one example")

    def _replace(self, index: int, job: Job, why: str) -> None:
        worker = self._workers[index]
        worker.context.is_given_up = True
        self.replaced += 1
        row = worker.context.row if worker.context.row != EMPTY else job.row
        self._report(worker, row, why)
        self._skipped.add(row, f"its worker {why}")
        if self.replaced > MAX_REPLACED:
            raise UnstallError(
                f"{self.replaced} workers hung or died, so it is not single examples: is the storage there? "
                f"The last was at {self._data.examples[row].name!r} and {why}."
            )
        self._jobs.appendleft(job._replace(patch=job.pending.patch(job.place)))
        self._workers[index] = self._new_worker()

    def _report(self, worker: Worker, row: int, why: str) -> None:
        current = probe.get_current()
        if current is not None:
            example = self._data.examples[row]
            file = "" if example.image is None else str(example.image.path)
            current.emit(
                WorkerReplaced(
                    at=time.time(),
                    worker=worker.name,
                    example=example.name,
                    file=file,
                    why=why,
                    seconds=worker.awaited_s,
                    count=self.replaced,
                )
            )


_thread_pools: weakref.WeakSet[InputThreadPool] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """A thread that comes back from native code into an interpreter that is gone can end the process with an abort."""
    for thread_pool in list(_thread_pools):
        thread_pool.close(END_S)
        thread_pool.wait_while_working(MAX_END_S)


def _read_cpu_time(worker: threading.Thread) -> str:
    """Nanoseconds of CPU that the kernel has given to the thread; empty once it has ended."""
    try:
        return Path(f"/proc/self/task/{worker.native_id}/schedstat").read_text(encoding="ascii").partition(" ")[0]
    except OSError:
        return ""
