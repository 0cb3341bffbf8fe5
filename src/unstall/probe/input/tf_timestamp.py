"""When a batch was handed over, noted in the graph: a last `map` that stores the time, after the user's own stages.

The element passes through unchanged. The wait of a step is the stamp's time less the step's begin. Nothing else of the
pipeline is touched: TensorFlow puts a prefetch of its own behind a pipeline that has none, and would put it behind the stamp,
where it makes the stamp run ahead of the step; so that prefetch is put before the stamp. The pipeline is left alone where a
stateful stage could matter: under a distribution strategy, and where the program asks TensorFlow for determinism (which
makes such stages run one by one).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Optional

READ_EVERY_S = 0.1
READ_SHARE = 0.002  # of the time: reading the variable costs 20 µs on a free machine, and ten times that on a busy one …
READ_AT_LEAST_EVERY_S = 0.5  # … but never seldomer than this


class InputStamp:
    def __init__(self, variable: Any) -> None:
        self._variable = variable
        self._next_read = 0.0

    @classmethod
    def put_on(cls, owner: Any, attribute: str, make_tap: Callable[[Any], Any]) -> Optional[InputStamp]:
        """Puts a stamp on the data set in owner.attribute, if that is safe, and beside it what make_tap gives. None if not."""
        tf = sys.modules.get("tensorflow")
        dataset = getattr(owner, attribute, None)
        if tf is None or not isinstance(dataset, tf.data.Dataset) or wants_determinism():
            return None
        with tf.device("CPU:0"):
            variable = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        tap = make_tap(dataset.element_spec)

        def note(*element: Any) -> Any:
            variable.assign(tf.timestamp())
            if tap is not None:
                tap.pass_by(element)
            return element if len(element) > 1 or isinstance(dataset.element_spec, tuple) else element[0]

        optimization = dataset.options().experimental_optimization
        if not hasattr(optimization, "inject_prefetch"):  # before TensorFlow 2.9: no prefetch is put behind a pipeline
            stamped = map_inline(dataset, note)
        elif optimization.inject_prefetch:
            return None  # asked for by name: what we would have to take back
        else:
            options = tf.data.Options()
            options.experimental_optimization.inject_prefetch = False
            fetched_ahead = dataset if _ends_in_prefetch(dataset) else dataset.prefetch(tf.data.AUTOTUNE)
            stamped = map_inline(fetched_ahead, note).with_options(options)
        if stamped.element_spec != dataset.element_spec:
            return None
        setattr(owner, attribute, stamped)
        return cls(variable)

    def wait_s(self, step_began: float, step_began_wall: float) -> Optional[float]:
        """How long the step that began then waited for its batch; None for steps that are not measured. Which are is settled by
        their begin: were it by their end, the long ones would be met more often than they come."""
        if step_began < self._next_read:
            return None
        spent = time.thread_time()  # by the clock it may be much more: the interpreter's lock may have to be waited for
        stamp = float(self._variable.numpy())
        spent = time.thread_time() - spent
        self._next_read = time.monotonic() + min(READ_AT_LEAST_EVERY_S, max(READ_EVERY_S, spent / READ_SHARE))
        return max(0.0, stamp - step_began_wall)


def map_inline(dataset: Any, function: Callable[..., Any]) -> Any:
    """A `map` whose operations run in the thread that asks for the batch. Handing them to TensorFlow's pool of threads, as
    `Dataset.map` does, costs ten times as much for so little work (100 µs for each batch, against 10)."""
    tf, stages = sys.modules["tensorflow"], sys.modules.get("tensorflow.python.data.ops.map_op")
    unconverted = tf.autograph.experimental.do_not_convert(function)
    kind = getattr(stages, "_MapDataset", None)
    if kind is None:
        return dataset.map(unconverted)
    try:
        return kind(dataset, unconverted, use_inter_op_parallelism=False)
    except TypeError:  # another version's
        return dataset.map(unconverted)


def _ends_in_prefetch(dataset: Any) -> bool:
    while type(dataset).__name__.strip("_") == "OptionsDataset":
        dataset = dataset._input_dataset
    return type(dataset).__name__.strip("_") == "PrefetchDataset"


def wants_determinism() -> bool:
    config = sys.modules.get("tensorflow.python.framework.config")
    enabled = getattr(config, "is_op_determinism_enabled", None)
    return bool(enabled()) if enabled is not None else False
