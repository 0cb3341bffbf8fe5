"""How long the steps wait for their input under a distribution strategy, whose iterator hands out batches inside the graph.

`MirroredStrategy` fetches batches for its devices by a thread of its own, from the data set that the program has made. That data
set is given two stages more when the iterator is made: a clock that is asked before each batch, and a last `map` that adds up how
long it took to come. Where the program itself fetches ahead (`prefetch`), that is the time in which nothing was there. Where it
does not, the time would be that of making the batch, waited for or not: such a data set is left as it is, and the wait is not
seen.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.coverage import INPUT_WAIT, get_coverage
from unstall.probe.input.tf_timestamp import is_deterministic
from unstall.probe.loop.custom_training import get_loop
from unstall.probe.loop.graph_loops import CountedBatches

READ_EVERY_S = 0.5
MAX_ITERATORS = 20  # that are counted; a program may make one for each epoch
MAX_STAGES_BACK = 10
_PASSES_THROUGH = frozenset({
    "AutoShardDataset", "RepeatDataset", "OptionsDataset", "TakeDataset", "SkipDataset", "AssertCardinalityDataset",
    "DatasetV1Adapter",
})  # fmt: skip


class DistributedInput:
    def __init__(self) -> None:
        self._counted: list[tuple[Any, CountedBatches]] = []  # weak references to the iterators
        self._read_at = 0.0
        self._steps = 0
        self.made = 0

    def count(self, dataset: Any) -> Optional[tuple[Any, CountedBatches]]:
        """The data set with the two stages, and the count; None where it is to be left as it is."""
        tf = sys.modules["tensorflow"]
        if self.made >= MAX_ITERATORS or is_deterministic() or not _is_fetched_ahead(dataset):
            return None
        count = CountedBatches(tf, f"distributed_{self.made}")
        with_clock = count.put_on(dataset)
        if with_clock is dataset:
            return None
        self.made += 1
        return with_clock, count

    def follow(self, iterator: Any, count: CountedBatches) -> None:
        self._counted = [pair for pair in self._counted if pair[0]() is not None]
        self._counted.append((weakref.ref(iterator), count))

    def wait(self, now: float, done: int) -> tuple[Optional[float], int]:
        """(seconds of waiting, of how many steps) since the last time; None where that was just now."""
        if now - self._read_at < READ_EVERY_S:
            return None, 0
        is_first, steps = self._read_at == 0.0 or done <= self._steps, done - self._steps
        self._read_at, self._steps = now, done
        taken = [count.take() for iterator, count in self._counted if iterator() is not None]
        batches, waited = max(taken, default=(0, 0.0))  # of several the one that feeds the training
        return (None, 0) if is_first or not batches else (waited, steps)


def _is_here(device: str) -> bool:
    """Whether the data set runs on a CPU of this machine, on which the counts lie: not on that of another worker, or of a TPU."""
    name = device.lower()
    return "cpu" in name and ("job:" not in name or "job:localhost" in name)


def _is_fetched_ahead(dataset: Any) -> bool:
    for _ in range(MAX_STAGES_BACK):
        name = type(dataset).__name__.strip("_")
        if name == "PrefetchDataset":
            return True
        if name not in _PASSES_THROUGH:
            return False
        dataset = getattr(dataset, "_input_dataset", None) or getattr(dataset, "_dataset", None)
    return False


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.data.ops.multi_device_iterator_ops: what a strategy iterates over its data with."""
    owner = getattr(module, "OwnedMultiDeviceIterator", None)
    loop, shield = get_loop(probe), probe.shield
    found = DistributedInput()
    loop.read_input_wait = found.wait

    def counted(dataset: Any, source: str) -> Optional[tuple[Any, CountedBatches]]:
        tf = sys.modules["tensorflow"]
        if not loop.is_mine() or not tf.executing_eagerly():
            return None
        pair = found.count(dataset) if _is_here(source) else None
        if pair is None:
            get_coverage(probe).hook_is_blind((INPUT_WAIT,))
        return pair

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(iterator: Any, dataset: Any = None, *args: Any, **kwargs: Any) -> None:
            pair = None
            if probe.active and dataset is not None:
                pair = shield.call("distributed input", counted, dataset, str(kwargs.get("source_device", "/cpu:0")))
            original(iterator, dataset if pair is None else pair[0], *args, **kwargs)
            if pair is not None:
                shield.call("distributed input", found.follow, iterator, pair[1])

        return __init__

    wrap(owner, "__init__", make)
