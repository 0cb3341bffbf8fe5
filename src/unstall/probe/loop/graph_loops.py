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


class GraphLoop:
    """The count of one loop. Its numbers lie in resources made by hand: a tf.Variable would be the traced function's own."""

    def __init__(self, tf: Any, number: int) -> None:
        self._tf = tf
        self._read = (0, 0.0)
        self._sums = []
        for name, zero in (("batches", tf.int64), ("waited", tf.float64)):
            with tf.init_scope(), tf.device("CPU:0"):
                handle = tf.raw_ops.VarHandleOp(dtype=zero, shape=[], shared_name=f"unstall_loop_{number}_{name}")
                tf.raw_ops.AssignVariableOp(resource=handle, value=tf.zeros([], zero))
            self._sums.append(handle)

    def put_on(self, dataset: Any) -> Any:
        tf = self._tf
        clock = map_inline(tf.data.Dataset.counter(), lambda _: tf.timestamp())

        def note(asked: Any, element: Any) -> Any:
            batches, waited = self._sums
            tf.raw_ops.AssignAddVariableOp(resource=waited, value=tf.timestamp() - asked)
            tf.raw_ops.AssignAddVariableOp(resource=batches, value=tf.ones([], tf.int64))
            return element

        counted = map_inline(tf.data.Dataset.zip((clock, dataset)), note)  # zip asks the clock first
        return counted if counted.element_spec == dataset.element_spec else dataset

    def take(self) -> tuple[int, float]:
        """Batches and seconds of waiting since the last time."""
        read, tf = self._tf.raw_ops.ReadVariableOp, self._tf
        batches, waited = int(read(resource=self._sums[0], dtype=tf.int64)), float(read(resource=self._sums[1], dtype=tf.float64))
        before, self._read = self._read, (batches, waited)
        return batches - before[0], waited - before[1]


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.data.ops.dataset_autograph, before it registers what it overrides."""
    loop, call = get_loop(probe), probe.shield.call
    made = 0

    def counted(dataset: Any) -> Optional[tuple[Any, GraphLoop]]:
        nonlocal made
        tf = sys.modules.get("tensorflow")
        if tf is None or made >= MAX_LOOPS or not loop.functions() or not loop.is_mine() or is_deterministic():
            return None
        count = GraphLoop(tf, made)
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
