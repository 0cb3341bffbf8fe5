"""A whole pass inside one tf.function: `for batch in dataset` that AutoGraph makes a part of the graph.

Python sees one call for the whole pass. So the data set of such a loop is given two stages more, when the function is traced:
a clock that is asked before each batch, and a last `map` that counts the batch and adds up how long it took to come. Batches pass
through unchanged and in order. The counts are read when the call has ended.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.input.tf_timestamp import is_deterministic, map_inline
from unstall.probe.loop.custom_training import get_loop

MAX_LOOPS = 20  # that are counted at once; functions may be traced again and again


class CountedBatches:
    """The count of what a data set gives. Its numbers lie in resources made by hand: a tf.Variable would be the traced function's
    own."""

    def __init__(self, tf: Any, name: str) -> None:
        self._tf = tf
        self._read = (0, 0.0)
        self._sums = []
        for part, zero in (("batches", tf.int64), ("waited", tf.float64)):
            with tf.init_scope(), tf.device("CPU:0"):
                handle = tf.raw_ops.VarHandleOp(dtype=zero, shape=[], shared_name=f"unstall_{name}_{part}")
                tf.raw_ops.AssignVariableOp(resource=handle, value=tf.zeros([], zero))
            self._sums.append(handle)

    def put_on(self, dataset: Any) -> Any:
        tf = self._tf
        clock = map_inline(tf.data.Dataset.from_tensors(0).repeat(), lambda _: tf.timestamp())

        def note(asked: Any, element: Any) -> Any:
            batches, waited = self._sums
            tf.raw_ops.AssignAddVariableOp(resource=waited, value=tf.timestamp() - asked)
            tf.raw_ops.AssignAddVariableOp(resource=batches, value=tf.ones([], tf.int64))
            return element

        counted = map_inline(tf.data.Dataset.zip((clock, dataset)), note)  # zip asks the clock first
        return counted if counted.element_spec == dataset.element_spec else dataset

    def take(self) -> tuple[int, float]:
        """Batches and seconds of waiting since the last time."""
        before, self._read = self._read, self._now()
        return self._read[0] - before[0], self._read[1] - before[1]

    def count_so_far(self) -> int:
        """Batches since the last time, which go on to be counted; from any thread."""
        return self._now()[0] - self._read[0]

    def _now(self) -> tuple[int, float]:
        read, tf = self._tf.raw_ops.ReadVariableOp, self._tf
        return int(read(resource=self._sums[0], dtype=tf.int64)), float(read(resource=self._sums[1], dtype=tf.float64))


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.data.ops.dataset_autograph, before it registers what it overrides."""
    loop, call = get_loop(probe), probe.shield.call
    made = 0

    def counted(dataset: Any) -> Optional[tuple[Any, CountedBatches]]:
        nonlocal made
        tf = sys.modules.get("tensorflow")
        if tf is None or made >= MAX_LOOPS or not loop.functions() or not loop.is_mine() or is_deterministic():
            return None
        count = CountedBatches(tf, f"loop_{made}")
        with_clock = count.put_on(dataset)
        if with_clock is dataset:
            return None
        made += 1
        return with_clock, count

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _tf_ag_dataset_for_stmt(ds: Any, *args: Any, **kwargs: Any) -> Any:
            found = call("graph loops", counted, ds) if probe.active else None
            gradients = loop.gradients_traced
            result = original(ds if found is None else found[0], *args, **kwargs)
            if found is not None and loop.functions() and loop.gradients_traced > gradients:
                loop.functions()[0].graph_loop = found[1]  # it trains; a loop that only validates is not counted
            return result

        return _tf_ag_dataset_for_stmt

    wrap(module, "_tf_ag_dataset_for_stmt", make)
