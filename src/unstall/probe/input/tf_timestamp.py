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
MAX_PAUSE_S = 2.0  # steps that have become long are not counted out
AVERAGED_STEPS = 30
MODULUS, MULTIPLIER = 2**31 - 1, 48271  # of uneven numbers of our own: the program's generators are its own


class MeasuredSteps:
    """Which steps are measured. They are chosen by their number and not by the clock, which would meet those that follow a long
    one more often than they come; and at uneven distances, since long and short waits may alternate, as with worker processes
    that finish together."""

    def __init__(self) -> None:
        self._left = 0  # steps until the next that is measured
        self._passed = 0  # steps since the last that was
        self._last_began: Optional[float] = None
        self._step_s = 0.0  # of the latest steps; 0: not known yet
        self._uneven = 1

    def is_next(self, step_began: float) -> bool:
        self._passed += 1
        self._left -= 1
        is_late = self._last_began is not None and step_began - self._last_began > MAX_PAUSE_S
        return self._left < 0 or is_late

    def plan(self, step_began: float, cost_s: float) -> None:
        """After a step was measured: which is the next."""
        distance = 1.0
        if self._last_began is not None:
            newest = (step_began - self._last_began) / self._passed
            weight = min(1.0, self._passed / AVERAGED_STEPS) if self._step_s else 1.0
            self._step_s = max(1e-6, (1.0 - weight) * self._step_s + weight * newest)
            distance = min(READ_AT_LEAST_EVERY_S, max(READ_EVERY_S, cost_s / READ_SHARE)) / self._step_s
        self._uneven = self._uneven * MULTIPLIER % MODULUS
        self._left = max(0, int(distance * (0.5 + self._uneven / MODULUS)) - 1) if distance > 1.0 else 0
        self._passed, self._last_began = 0, step_began


class InputStamp:
    def __init__(self, variable: Any) -> None:
        self._variable = variable
        self._measured = MeasuredSteps()

    @classmethod
    def put_on(cls, owner: Any, attribute: str, make_tap: Callable[[Any], Any]) -> Optional[InputStamp]:
        """Puts a stamp on the data set in owner.attribute, if that is safe, and beside it what make_tap gives. None if not."""
        tf = sys.modules.get("tensorflow")
        dataset = getattr(owner, attribute, None)
        if tf is None or not isinstance(dataset, tf.data.Dataset) or is_deterministic():
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
        """How long the step that began then waited for its batch; None for steps that are not measured."""
        if not self._measured.is_next(step_began):
            return None
        spent = time.thread_time()  # by the clock it may be much more: the interpreter's lock may have to be waited for
        stamp = float(self._variable.numpy())
        self._measured.plan(step_began, time.thread_time() - spent)
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


def is_deterministic() -> bool:
    config = sys.modules.get("tensorflow.python.framework.config")
    enabled = getattr(config, "is_op_determinism_enabled", None)
    return bool(enabled()) if enabled is not None else False
