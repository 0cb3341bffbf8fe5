"""Whether every batch is the same one: a checksum now and then, of batches that pass through Python anyway.

Looking ends for good as soon as two batches differ, so a healthy input costs a few looks in all.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.tracebacks import hide_own_frames
from unstall.probe.core.user_code import find_code_place, find_user_place
from unstall.probe.loop.custom_training import get_loop
from unstall.probe.model.baseline_loss import get_baseline_loss

LOOK_EVERY_S = 0.25
LOOK_EACH_UP_TO = 4
REPORT_INTERVAL_S = 2.0
MAX_BYTES = 16_000_000  # of one array
MAX_ARRAYS = 4
MAX_SOURCES = 50
_MADE_AT = "_unstall_made_at"
_SOURCE = "_unstall_source"


def compute_checksum(batch: Any) -> Optional[int]:
    """Of all the numbers in a batch; None if it holds none that can be read without a copy."""
    total = 0
    arrays = _arrays(batch)[:MAX_ARRAYS]
    for array in arrays:
        if array.dtype == object:
            return None
        flat = array.reshape(-1)[: max(1, MAX_BYTES // max(1, array.itemsize))]  # a view, or a copy where it must be
        total = zlib.crc32(flat.tobytes(), total)
    return total if arrays else None


def _arrays(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [array for part in value.values() for array in _arrays(part)]
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in _arrays(part)]
    if hasattr(value, "flags") and hasattr(value, "strides"):
        return [value]
    read = getattr(value, "_numpy", None)  # a tensor of TensorFlow, without a copy when it lies in host memory
    if read is not None and "GPU" not in str(getattr(value, "device", "")):
        return _arrays(read())
    return []


def find_larger_than_batch(values: dict[str, Any], rows: int) -> Optional[str]:
    """What of these holds at least two batches' worth of examples or file names: `readings (6,400)`."""
    for name, value in values.items():
        is_array = hasattr(value, "strides") and hasattr(value, "shape") and len(value.shape) > 0
        is_list = isinstance(value, (list, tuple)) and len(value) > 0
        if rows > 0 and (is_array or is_list) and len(value) >= 2 * rows:
            return f"{name} ({len(value):,})"
    return None


class Source:
    """One data set, generator or PyDataset."""

    def __init__(self, kind: str, probe: Probe) -> None:
        self.kind = kind
        self.varies = False
        self.batches = 0
        self.rows = 0  # of a batch
        self.starts = 0  # iterators made
        self.ended = 0  # iterators that were used up
        self.more: Optional[str] = None  # what the source holds more of than it gives, in words
        self.size: Optional[int] = None  # how many batches it has, if it knows; below zero: without end, or unknown
        self._probe = probe
        self._first: Optional[int] = None
        self._looks = 0
        self._began = 0.0
        self._due = 0.0
        self._report_at = 0.0

    def see(self, batch: Any, where: Callable[[], Optional[str]]) -> None:
        self.batches += 1
        if self.varies:
            return
        now = time.monotonic()
        if now < self._due and self._looks >= LOOK_EACH_UP_TO:
            return
        self._due = now + LOOK_EVERY_S
        self._probe.shield.within_budget("equal batches", self._look, batch, where, now)

    def _look(self, batch: Any, where: Callable[[], Optional[str]], now: float) -> None:
        found = compute_checksum(batch)
        arrays = _arrays(batch)
        self.rows = len(arrays[0]) if arrays and arrays[0].ndim > 0 else 0
        if found is None:
            self.varies = True  # cannot be told: never looked at again
            return
        if self._first is None:
            self._first, self._began = found, now
        self._looks += 1
        self.varies = found != self._first
        if self.varies or (now >= self._report_at and self._looks > LOOK_EACH_UP_TO):
            self._report_at = now + REPORT_INTERVAL_S
            self._probe.emit(LoopSeen(at=time.time(), facts=self._facts(where(), now)))

    def _facts(self, where: Optional[str], now: float) -> dict[str, Any]:
        return {
            "kind": "batches",
            "source": self.kind,
            "where": where,
            "same": not self.varies,
            "looks": self._looks,
            "batches": self.batches,
            "starts": self.starts,
            "ended": self.ended,
            "cardinality": self.size,
            "holds": self.more,
            "seconds": now - self._began,
        }


# --- tf.data in one's own loop ---


def install_iterators(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.data.ops.iterator_ops, before the loop's own hook: notes where an iterator was made."""
    loop = get_loop(probe)
    count = 0

    def source_of(iterator: Any) -> Optional[Source]:
        """Kept on the data set itself: a reference from here would keep the data set alive."""
        nonlocal count
        dataset = getattr(iterator, "_dataset", None)
        if dataset is None:
            return None
        source: Optional[Source] = dataset.__dict__.get(_SOURCE)
        if source is None and count < MAX_SOURCES:
            count += 1
            source = dataset.__dict__[_SOURCE] = Source("tf.data", probe)
        return source

    def made(iterator: Any) -> None:
        source = source_of(iterator)
        if source is not None and not source.varies:
            source.starts += 1
            iterator.__dict__[_MADE_AT] = find_user_place()

    def fetched(iterator: Any, batch: Any) -> None:
        source = source_of(iterator)
        if source is None or source.varies:
            return

        def where() -> Optional[str]:
            if source.size is None and not source.varies:
                source.size = int(iterator._dataset.cardinality())
            return iterator.__dict__.get(_MADE_AT) or find_user_place()

        source.see(batch, where)

    def ended(iterator: Any) -> None:
        source = source_of(iterator)
        if source is not None:
            source.ended += 1
            if not source.batches:
                probe.emit(LoopSeen(at=time.time(), facts={"kind": "empty", "where": iterator.__dict__.get(_MADE_AT)}))

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(iterator: Any, *args: Any, **kwargs: Any) -> None:
            original(iterator, *args, **kwargs)
            if probe.active and loop.is_mine() and module.context.executing_eagerly():
                probe.shield.call("batches", made, iterator)

        return __init__

    wrap(getattr(module, "OwnedIterator", None), "__init__", make)
    loop.on_batch.append(fetched)
    loop.on_end.append(ended)


# --- generators and PyDatasets given to fit ---


class LookingIterator:
    """Passes a generator's batches on, and looks at some."""

    def __init__(self, generator: Any, source: Source, probe: Probe) -> None:
        self._generator = generator
        self._source = source
        self._probe = probe
        self._guessing = get_baseline_loss(probe)

    def __iter__(self) -> Iterator[Any]:
        return self

    @hide_own_frames
    def __next__(self) -> Any:
        batch = next(self._generator)
        if self._probe.active:
            if not self._source.varies:
                self._probe.shield.call("batches", self._source.see, batch, self._where)
            self._probe.shield.call("labels", self._guessing.batch, batch)
        return batch

    def _where(self) -> Optional[str]:
        """The line of the yield."""
        frame = getattr(self._generator, "gi_frame", None)
        if frame is None:
            return None
        used = {name: frame.f_globals.get(name) for name in frame.f_code.co_names}
        self._source.more = find_larger_than_batch({**used, **frame.f_locals}, self._source.rows)
        return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def install_generators(module: ModuleType, probe: Probe) -> None:
    """keras.src.trainers.data_adapters.generator_data_adapter, or engine.data_adapter of Keras 2"""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(adapter: Any, generator: Any, *args: Any, **kwargs: Any) -> None:
            to_processes = kwargs.get("use_multiprocessing")
            if probe.active and probe.fit_depth == 0 and hasattr(generator, "gi_frame") and not to_processes:
                generator = LookingIterator(generator, Source("generator", probe), probe)
            original(adapter, generator, *args, **kwargs)

        return __init__

    wrap(getattr(module, "GeneratorDataAdapter", None), "__init__", make)


def install_py_datasets(module: ModuleType, probe: Probe) -> None:
    """keras.src.trainers.data_adapters.py_dataset_adapter"""

    def where(dataset: Any, source: Source) -> Optional[str]:
        source.more = find_larger_than_batch(vars(dataset), source.rows)
        return find_code_place(type(dataset).__getitem__)

    def see(adapter: Any, batch: Any) -> None:
        source: Optional[Source] = adapter.__dict__.get(_SOURCE)
        if source is None:
            source = adapter.__dict__[_SOURCE] = Source("PyDataset", probe)
        if not source.varies:
            source.see(batch, lambda: where(adapter.py_dataset, source))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _standardize_batch(adapter: Any, batch: Any) -> Any:
            if probe.active:
                probe.shield.call("batches", see, adapter, batch)
            return original(adapter, batch)

        return _standardize_batch

    wrap(module.PyDatasetAdapter, "_standardize_batch", make)
