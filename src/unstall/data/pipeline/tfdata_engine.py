"""The same batches as a tf.data.Dataset: for a TensorFlow program that fetches its input inside the graph.

tf.data orders, holds ready and hands over; the examples are made by the pool of threads, side by side. This is not for want
of TensorFlow operations: a read that hangs inside tf.data hangs for ever, its resize gives float32 at several times the cost,
and its pixels would be other ones than those of the thread engine. Here both engines give the same bytes. Arrays begin at a
multiple of 64 bytes, so TensorFlow takes them without a copy. A wait for input holds one thread of TensorFlow's pool and needs
no other one of it, so it ends whatever the pool is busy with.

The only file of the data side that names a backend; it is imported when the engine is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import numpy as np

from unstall.base.errors import InvalidInputError, UnstallError
from unstall.data.pipeline.autotune import InputMeasurement
from unstall.data.pipeline.batch import Batch, Layout, Part, compute_batch_bytes
from unstall.data.pipeline.settings import PipelineSettings
from unstall.data.pipeline.threads_engine import Batches

HELD_BY_TENSORFLOW = 2  # batches, at most: prefetched, or being handed over


def import_tensorflow() -> Any:
    try:
        import tensorflow
    except ImportError as missing:
        raise InvalidInputError("engine='tf.data' needs TensorFlow. Install it: pip install 'unstall[tensorflow]'") from missing
    return tensorflow


def wrap_as_dataset(settings: PipelineSettings, open_batches: Callable[[], Batches], steps: int | None) -> Any:
    """Elements are dicts of the batch's arrays, and `epoch` and `step`. Each iterator over it begins anew."""
    tf, layout = import_tensorflow(), Layout(settings)

    def unpacked(images: Any, packed: Any) -> dict[str, Any]:
        return {"images": images} | {part.name: convert_to_array(tf, part, packed) for part in layout.parts}

    return count_ahead(create_dataset(settings, open_batches, steps).map(unpacked), settings)


def convert_to_array(tf: Any, part: Part, packed: Any) -> Any:
    own = packed[part.begin : part.end]
    dtype = tf.as_dtype(part.dtype)
    values = tf.cast(own, dtype) if dtype.size == 1 else tf.bitcast(tf.reshape(own, (-1, dtype.size)), dtype)
    return tf.reshape(values, part.shape)


def create_dataset(settings: PipelineSettings, open_batches: Callable[[], Batches], steps: int | None) -> Any:
    """Elements are the images and the bytes of everything else; see packing."""
    tf, layout = import_tensorflow(), Layout(settings)
    shape = (settings.batch_size, settings.height_px, settings.width_px, 3)
    signature = (tf.TensorSpec(shape, tf.uint8), tf.TensorSpec((layout.bytes,), tf.uint8))

    def elements() -> Iterator[tuple[Any, Any]]:
        with open_batches() as batches:
            for batch in batches:
                yield batch.images, layout.packed(batch)

    made = tf.data.Dataset.from_generator(elements, output_signature=signature)
    cardinality = tf.data.INFINITE_CARDINALITY if steps is None else steps
    return made.apply(tf.data.experimental.assert_cardinality(cardinality))


def count_ahead(made: Any, settings: PipelineSettings) -> Any:
    """Held ready by TensorFlow, which finds out how many: as many as its part of the budget of bytes has room for, at most."""
    tf = import_tensorflow()
    options = tf.data.Options()
    options.deterministic = True
    options.autotune.enabled = True
    options.autotune.ram_budget = HELD_BY_TENSORFLOW * compute_batch_bytes(settings)
    return made.prefetch(tf.data.AUTOTUNE).with_options(options)


class TensorFlowBatches:
    """The dataset's elements as batches again. What the crew raises arrives as it was raised, not as TensorFlow puts it."""

    def __init__(self, settings: PipelineSettings, open_batches: Callable[[], Batches], steps: int | None) -> None:
        self._tf = import_tensorflow()
        self._opened: Batches | None = None
        self._layout = Layout(settings)
        self._elements = iter(count_ahead(create_dataset(settings, lambda: self._open(open_batches), steps), settings))

    def __iter__(self) -> TensorFlowBatches:
        return self

    def __next__(self) -> Batch:
        try:
            images, packed = next(self._elements)
        except self._tf.errors.OpError as error:
            raised = None if self._opened is None else self._opened.error
            raise (raised or error) from None
        return self._layout.batch(np.asarray(memoryview(images)), np.asarray(memoryview(packed)))

    def __enter__(self) -> TensorFlowBatches:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._elements = iter(())
        if self._opened is not None:
            self._opened.close()

    def moved(self, seconds: float) -> None:
        if self._opened is not None:
            self._opened.moved(seconds)

    def measured(self) -> InputMeasurement:
        if self._opened is None:
            raise UnstallError("Nothing is measured before the first batch.")
        return self._opened.measured()

    def _open(self, open_batches: Callable[[], Batches]) -> Batches:
        self._opened = open_batches()
        return self._opened
