"""The steps of a tf.function that makes several in one call, as with `for _ in tf.range(100):` around the step.

Python sees one call for all of them, but the optimizer counts them (`iterations`). Its count is read when the call has ended,
and once a second while it lasts, by a thread of ours: so the pulse beats, and a call of minutes is not taken for a standstill.
Nothing is put into the graph of the step.
"""

from __future__ import annotations

import atexit
import sys
import threading
import time
import weakref
from typing import Any, Optional

from unstall.journal.events import LoopSeen
from unstall.probe.core.probe import Probe
from unstall.probe.core.step_counter import as_number
from unstall.probe.loop.custom_training import OwnLoop, get_loop

READ_EVERY_S = 0.1  # of calls that are short: reading the count may wait for the device
BEAT_EVERY_S = 1.0
_LOOP_BODY = "WhileBodyFuncGraph"
MAX_GRAPHS = 50


class OptimizerSteps:
    """How many steps an optimizer has made."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = weakref.ref(optimizer)
        self._read = self._now() or 0
        self._read_at = 0.0

    def take(self) -> tuple[int, Optional[float]]:
        """Steps since the last time; 0 where the last time was just now."""
        now = time.monotonic()
        if now - self._read_at < READ_EVERY_S:
            return 0, None
        before, count = self._read, self._now()
        self._read_at = now
        if count is None or count <= before:  # it is not counted here, or was set back: then the call stands for one step
            self._read = before if count is None else count
            return 1, None
        self._read = count
        return count - before, None

    def count_so_far(self) -> int:
        """Steps since the last time, which go on to be counted; from any thread."""
        count = self._now()
        return 0 if count is None else count - self._read

    def _now(self) -> Optional[int]:
        optimizer = self.optimizer()
        made = getattr(optimizer, "_iterations", None)  # None before the first step: asking for `iterations` would make it
        if made is None:
            return None
        tf = sys.modules["tensorflow"]
        try:
            with tf.init_scope():  # it may be asked for in a trace
                value = as_number(getattr(made, "_value", made).numpy())
        except (RuntimeError, ValueError, AttributeError, tf.errors.OpError):
            return None  # it is made in this very trace
        return None if value is None else int(value)


class StepsPerCall:
    def __init__(self, probe: Probe, loop: OwnLoop) -> None:
        self._probe = probe
        self._loop = loop
        self._wake = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def applied(self, optimizer: Any, gradients: Any, variables: Any) -> None:
        """Gradients are applied, perhaps within a trace."""
        functions = self._loop.functions()
        if not functions or not self._loop.is_mine() or not _is_in_loop():
            return
        known = functions[0].graph_loop
        if known is not None and (not isinstance(known, OptimizerSteps) or known.optimizer() is optimizer):
            return
        functions[0].graph_loop = OptimizerSteps(optimizer)
        facts = {"kind": "steps_per_call", "function": functions[0].name, "where": functions[0].where}
        self._probe.emit(LoopSeen(at=time.time(), facts=facts))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="unstall-steps", daemon=True)
            self._thread.start()
            atexit.register(self._stop)

    def _stop(self) -> None:
        """Before the interpreter goes: a thread inside TensorFlow must not outlive it."""
        self._wake.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def _run(self) -> None:
        seen: tuple[Any, int] = (None, 0)
        while not self._wake.wait(BEAT_EVERY_S) and self._probe.active:
            seen = self._probe.shield.call("steps of a call", self._look, seen) or (None, 0)

    def _look(self, before: tuple[Any, int]) -> tuple[Any, int]:
        """(the call, steps that it had made by now)."""
        record, pulse = self._loop.running, self._probe.pulse
        counts = None if record is None else record.graph_loop
        if counts is None or pulse is None or not self._loop.is_open:
            return None, 0
        call = (record, record.calls)
        count = counts.count_so_far()
        if self._loop.running is record and call[1] == record.calls and count > (before[1] if before[0] == call else 0):
            pulse.at_step(self._probe.train.done + count)
            pulse.beat(time.monotonic())
        return call, count


def _is_in_loop() -> bool:
    """Whether what is traced now is the body of a loop in the graph."""
    ops = sys.modules["tensorflow.python.framework.ops"]
    graph = ops.get_default_graph()
    for _ in range(MAX_GRAPHS):
        if type(graph).__name__ == _LOOP_BODY:
            return True
        graph = getattr(graph, "outer_graph", None)
        if graph is None:
            return False
    return False


def install(module: Any, probe: Probe) -> None:
    """tensorflow.python.eager.backprop: with whatever trains."""
    loop = get_loop(probe)
    if "steps per call" not in probe.extras:
        watcher = probe.extras["steps per call"] = StepsPerCall(probe, loop)
        loop.on_apply.append(watcher.applied)
