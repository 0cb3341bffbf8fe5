"""The steps of one's own TensorFlow loop: over tf.data, with GradientTape, in a tf.function or without.

A step is whatever computes gradients: an eager call of `tape.gradient`, or the call of a tf.function in whose trace
gradients were computed. Where several take turns (a GAN), the first that was seen beats the time. Waiting for input is
the time in the data set's `next`. Losses are read seldom, and only ones that are older than a step: reading the newest
would wait for the device.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_user_place
from unstall.probe.input import tf_pipeline
from unstall.probe.loop import replicas
from unstall.probe.loop.losses import Losses, find_loss
from unstall.probe.loop.traces import TracedFunction, get_traces

ANOTHER_CLOCK_AFTER = 50  # so many steps of another kind without one of the clock's: the program has gone on to another loop
FOREIGN_BATCHES = 2  # so many batches from another data set without a training step: a validation
_ATTRIBUTE = "_unstall_record"
_TRAINS = "_unstall_trains"
_TOKEN = "_unstall_token"


class _Calls(threading.local):
    """The tf.functions that this thread is in, outermost first."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


class OwnLoop:
    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.is_open = False
        self.is_in_step = False  # a call whose end is a step goes on: what is seen within it is none of its own
        self.calls = _Calls()
        self.running: Any = None  # the record of the tf.function that Python has called and that has not returned
        self.losses = Losses()
        self.read_input_wait: Optional[Callable[[float, int], tuple[Optional[float], int]]] = None  # (now, steps done)
        self.trainers: set[Any] = set()  # records of the functions in whose trace gradients were computed
        self.gradients_traced = 0  # inside tf.functions
        self.on_batch: list[Callable[[Any, Any], None]] = []  # called as (iterator, batch), for batches that Python fetched
        self.on_end: list[Callable[[Any], None]] = []  # called with an iterator that is used up
        self.on_apply: list[Callable[[Any, Any, Any], None]] = []  # called as (optimizer, gradients, variables)
        self.on_missing: list[Callable[[list[Any]], None]] = []  # told the variables that got no gradient
        self.on_first_loss: list[Callable[[Any], None]] = []  # told the loss of a step that is traced for the first time
        self.on_eager_step: list[Callable[[Any], None]] = []  # called with the user's frame
        self.on_variables: list[Callable[[list[Any]], None]] = []  # told the variables that gradients are asked for
        self._clock: Any = None
        self._others = 0
        self._reported_others = False
        self._thread = 0
        self._epoch = 0
        self._set: Any = None  # the token of the data set that feeds the training
        self._last_set: Any = None
        self._foreign_set: Any = None
        self._foreign = 0  # batches in a row from one data set that is not the training's
        self._resting = False
        self._given, self._is_pass_over = 0, False  # batches of the newest iterator; the last steps of a pass may still come
        self.is_new_validation = False  # it has just been seen to begin

    # --- steps ---

    def functions(self) -> list[Any]:
        """The tf.functions that this thread is in, outermost first; of a replica, those of the thread that runs the strategy."""
        replica = None if self.calls.stack else replicas.get_replica()
        return self.calls.stack if replica is None else replica.calls

    def is_mine(self) -> bool:
        """Whether no fit and no watch() is counting steps already."""
        return self.is_open or self.probe.fit_depth == 0

    def trained(
        self,
        clock: Any,
        began: float,
        loss: Callable[[], Any],
        backend: str = "tensorflow",
        batches: Optional[tuple[int, Optional[float]]] = None,
    ) -> None:
        """A piece of training has been done, by the function or the line `clock`: a step, or so many (count, seconds waited)."""
        replica = replicas.get_replica()
        if not self.is_mine() or (replica is not None and replica.number != 0):  # all replicas make one step together
            return
        thread = threading.get_ident() if replica is None else replica.thread
        now = time.monotonic()
        was_validating = self._end_validation()
        if self._last_set is not self._set:
            self._begin_pass()
        self._set = self._last_set
        if self._clock is None:
            self._clock = clock
        if clock != self._clock:
            if not self._reported_others:
                self._reported_others = True
                self.probe.emit(LoopSeen(at=time.time(), facts={"kind": "turns"}))
            self._others += 1
            if self._others < ANOTHER_CLOCK_AFTER:
                return
            self._clock = clock
        self._others = 0
        probe = self.probe
        if not self.is_open:
            self._open(began, backend, thread)
        elif thread != self._thread:
            return
        elif was_validating:
            probe.step_began_at = began
        self.losses.see(now, loss)
        probe.last_losses = [loss()]
        count, wait_s = batches if batches is not None else (1, None)
        waited = count
        if wait_s is None and self.read_input_wait is not None:
            wait_s, waited = self.read_input_wait(now, probe.train.done + count)
        probe.step_ended(None, wait_s, lambda: (self.losses.take(), 0), count, waited)
        probe.step_began()

    def change_clock(self, clock: Any) -> None:
        """What was taken for steps so far was a part of what this does: from now on it beats the time."""
        self._clock = clock

    def _open(self, began: float, backend: str, thread: int) -> None:
        probe = self.probe
        probe.fit_began(None, "own_loop", backend, None, None, find_user_place())
        probe.close_loop, probe.read_loss = self.close, self._last_loss
        self.is_open = True
        self._thread = thread
        self._epoch, self._is_pass_over = 0, False
        probe.epoch_began(0)
        probe.step_began()
        probe.step_began_at = began

    def _last_loss(self) -> tuple[Optional[float], int]:
        """What waits for the device: something else than steps comes next."""
        return self.losses.take_last(self.probe.last_losses[-1] if self.probe.last_losses else None), 0

    def close(self) -> None:
        """Something else counts the steps from now on."""
        if self.is_open:
            self.is_open = False
            self._clock = None
            self.probe.close_loop = None
            self.probe.train.flush(time.monotonic(), *self._last_loss())
            self.probe.read_loss = None
            self.probe.fit_ended()

    # --- input ---

    def next_began(self, source: Any, is_first: bool = False) -> float:
        """`is_first`: of a new iterator, which begins a new pass where the one before gave more than a batch."""
        probe = self.probe
        if self._resting:
            self._resting = False
            if probe.pulse is not None:
                probe.pulse.phase(probe.phase or "between", time.monotonic())
            probe.step_began()
        began = probe.input_began()
        if source is self._set:
            if is_first:
                self._is_pass_over = self._is_pass_over or self._given > 1
                self._given = 0
            self._begin_pass()
        if self.is_open and source is not self._set:
            self._foreign = self._foreign + 1 if source is self._foreign_set else 1
            self._foreign_set = source
            if self._foreign == FOREIGN_BATCHES and probe.phase == "train":
                probe.phase_began("validate")
                self.is_new_validation = True
        return began

    def next_ended(self, source: Any, began: float, exhausted: bool) -> None:
        probe = self.probe
        if source is not self._set and self._foreign >= FOREIGN_BATCHES:
            if probe.pulse is not None:
                probe.pulse.input_since(0.0)
            probe.other_step("validate", began)
        else:
            probe.input_ended(began)
        self._last_set = source
        self._given += source is self._set
        if exhausted and self.is_open and threading.get_ident() == self._thread:
            self._rest(source)

    def _rest(self, source: Any) -> None:
        """The end of a pass. What follows may be another pass, or the end of the training."""
        probe = self.probe
        self._end_validation()
        now = time.monotonic()
        if source is self._set:
            self.losses.settle()
            probe.train.flush(now, self.losses.take())
            self._is_pass_over = True
        if probe.pulse is not None:
            self._resting = True
            probe.pulse.phase("between", now)

    def _begin_pass(self) -> None:
        """A pass after one that is over. Where batches are fetched ahead, the last step comes after the end of the data."""
        if self._is_pass_over:
            self._epoch, self._is_pass_over = self._epoch + 1, False
            self.probe.epoch_began(self._epoch)

    def _end_validation(self) -> bool:
        """Whether there was one."""
        probe = self.probe
        was = self._foreign >= FOREIGN_BATCHES and probe.phase == "validate"
        if was:
            probe.other.flush(time.monotonic())
            probe.phase_ended("validate")
        self._foreign = 0
        return was

    def asked_for(self, variables: list[Any]) -> None:
        """These are what the program wants to train."""
        for look in self.on_variables if variables else ():
            look(variables)

    def missed(self, variables: list[Any]) -> None:
        """These got no gradient."""
        for look in self.on_missing:
            look(variables)

    def traced_loss(self, loss: Any) -> None:
        if self.is_mine():
            for look in self.on_first_loss:
                look(loss)

    def progressed(self) -> None:
        """Something of TensorFlow's has been done, if not a step."""
        pulse = self.probe.pulse if self.is_open else None
        if pulse is not None:
            pulse.beat(time.monotonic())


def get_loop(probe: Probe) -> OwnLoop:
    loop: Optional[OwnLoop] = probe.extras.get("own loop")
    if loop is None:
        loop = probe.extras["own loop"] = OwnLoop(probe)
    return loop


def install_functions(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.polymorphic_function.polymorphic_function: calls of tf.functions from Python."""
    if not hasattr(module, "context"):
        return  # the name that it had before, which now only leads there
    loop, traces, call = get_loop(probe), get_traces(probe), probe.shield.call
    executing_eagerly = module.context.executing_eagerly

    def record_of(function: Any) -> Optional[TracedFunction]:
        record = traces.of(function)
        function.__dict__[_ATTRIBUTE] = record
        return record

    def ended(function: Any, record: TracedFunction, began: float, result: Any) -> None:
        # The record is that of the code, and the same lines of Keras make the function that trains and the one that evaluates.
        if _TRAINS in function.__dict__:
            batches = record.graph_loop.take() if record.graph_loop is not None else None
            if batches is None or batches[0] > 0:
                loop.trained(record, began, lambda: find_loss(result, record), batches=batches)
        else:
            loop.progressed()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(function: Any, *args: Any, **kwds: Any) -> Any:
            record = function.__dict__.get(_ATTRIBUTE)
            if record is not None and probe.fit_depth > 0 and not loop.is_open:
                record.calls += 1  # within a fit, whose own hooks count the steps: the quick way through
                return original(function, *args, **kwds)
            if not probe.active or not executing_eagerly():
                return original(function, *args, **kwds)
            record = record or call("functions", record_of, function)
            stack = loop.calls.stack
            if record is None or stack:
                return original(function, *args, **kwds)
            record.calls += 1
            stack.append(record)
            gradients = loop.gradients_traced
            loop.running = record
            began = time.monotonic()
            try:
                result = original(function, *args, **kwds)
            finally:
                stack.clear()
                loop.running = None
            if loop.gradients_traced > gradients:
                function.__dict__[_TRAINS] = True
            if loop.is_open or probe.fit_depth == 0:  # within a fit, its own hooks count the steps
                call("functions", ended, function, record, began, result)
            return result

        return __call__

    wrap(module.Function, "__call__", make)


def install_iterators(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.data.ops.iterator_ops: `for batch in dataset` in Python."""
    loop, call = get_loop(probe), probe.shield.call
    executing_eagerly = module.context.executing_eagerly

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(iterator: Any) -> Any:
            if not probe.active or not loop.is_mine() or not executing_eagerly():
                return original(iterator)
            source = call("iterators", _token, iterator)
            began = call("iterators", loop.next_began, source) or time.monotonic()
            if loop.is_new_validation:
                loop.is_new_validation = False
                call("iterators", tf_pipeline.describe_validation, probe, iterator)
            try:
                batch = original(iterator)
            except StopIteration:
                call("iterators", loop.next_ended, source, began, True)
                for see_end in loop.on_end:
                    call("batches", see_end, iterator)
                raise
            call("iterators", loop.next_ended, source, began, False)
            for look in tuple(loop.on_batch):
                call("batches", look, iterator, batch)
            return batch

        return __next__

    wrap(getattr(module, "OwnedIterator", None), "__next__", make)


def _token(iterator: Any) -> Any:
    """Stands for the data set of an iterator. The data set itself is not kept: it may hold gigabytes."""
    dataset = getattr(iterator, "_dataset", None)
    return None if dataset is None else dataset.__dict__.setdefault(_TOKEN, object())
