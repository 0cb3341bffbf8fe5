"""What each stage of a running tf.data pipeline costs: TensorFlow's own measurement, which it keeps for its autotuning.

TensorFlow counts, for every stage of every iterator, the elements it made, the time it worked, the elements it holds and how
many it makes at a time. A thread of ours asks for these numbers now and then (a third of a millisecond), also while the
program waits inside TensorFlow for its first batch: so it can be seen that a shuffle buffer is filling, and how far it is.

Nothing is asked of an iterator that is gone, of one that was made inside a graph, or where the measurement is switched off.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.journal.events import PipelineMeasured, ProbeFailed
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.input.tf_pipeline import FOLLOWED, find_chain, find_chain_with_components

FIRST_AFTER_S = 3.0
EVERY_S = 5.0
EVERY_LATER_S = 20.0
LATER_AFTER_S = 60.0
MAX_ITERATORS = 3  # the newest: of training, of validation, and one more
MAX_EVENTS = 400
MAX_WITH_COMPONENTS = 16  # iterators of which the parts of the elements are noted too
MODEL_OPS = "tensorflow.python.data.experimental.ops.iterator_model_ops"  # not in TensorFlow 2.16 and before
MODEL_FILE = MODEL_OPS.rpartition(".")[2] + ".py"


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.data.ops.iterator_ops: every iterator that Python makes."""
    is_reporting = os.path.exists(os.path.join(os.path.dirname(module.__file__ or ""), "..", "experimental", "ops", MODEL_FILE))
    if not is_reporting:  # nothing has failed, but causes that need it have to know
        why = "this version of TensorFlow does not tell what the stages of a pipeline have made"
        probe.emit(ProbeFailed(at=time.time(), probe="pipeline measure", error=why, disabled=True))
    measurer = _Measurer(probe, is_reporting)
    executing_eagerly = module.context.executing_eagerly

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(iterator: Any, *args: Any, **kwargs: Any) -> None:
            original(iterator, *args, **kwargs)
            dataset = getattr(iterator, "_dataset", None)
            if probe.active and dataset is not None:
                probe.shield.call("pipeline measure", measurer.follow, iterator, dataset, executing_eagerly())

        return __init__

    wrap(getattr(module, "OwnedIterator", None), "__init__", make)


class _FollowedIterator:
    def __init__(self, number: int, iterator: Any, stages: list[dict[str, Any]], role: str) -> None:
        self.number = number
        self.iterator = weakref.ref(iterator)
        self.stages = stages
        self.role = role
        self.began = time.monotonic()
        self.last_reported = -1


class _Measurer:
    def __init__(self, probe: Probe, is_reporting: bool) -> None:
        """`is_reporting`: whether this version of TensorFlow tells what it has measured."""
        self._probe, self._is_reporting = probe, is_reporting
        self._followed: list[_FollowedIterator] = []
        self._count = 0
        self._events = 0
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopped = False
        self._thread: Optional[threading.Thread] = None

    def follow(self, iterator: Any, dataset: Any, is_eager: bool) -> None:
        with_components = self._count < MAX_WITH_COMPONENTS
        stages = find_chain_with_components(dataset) if with_components else find_chain(dataset)
        role = "validate" if self._probe.phase in ("validate", "predict") else "train"
        self._count += 1
        rows = self._probe.extras.setdefault(FOLLOWED, [])
        rows[:] = [*rows, {"role": role, "stages": stages}][-MAX_ITERATORS:]
        if not is_eager:
            self._report(PipelineMeasured(at=time.time(), number=self._count, role=role, stages=stages, in_graph=True))
            return
        if not self._is_reporting:
            return
        with self._lock:
            self._followed = [*self._followed, _FollowedIterator(self._count, iterator, stages, role)][-MAX_ITERATORS:]
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="unstall-pipeline", daemon=True)
            self._thread.start()
            atexit.register(self._stop)

    def _stop(self) -> None:
        """Before the interpreter goes: a thread inside TensorFlow must not outlive it."""
        self._stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(1.0)

    def _run(self) -> None:
        while not self._stopped and self._probe.active:
            now = time.monotonic()
            due = now + EVERY_LATER_S
            with self._lock:
                followed = list(self._followed)
            for each in followed:
                age = now - each.began
                if age >= FIRST_AFTER_S:
                    self._probe.shield.call("pipeline measure", self._measure, each)
                    due = min(due, now + (EVERY_S if age < LATER_AFTER_S else EVERY_LATER_S))
                else:
                    due = min(due, each.began + FIRST_AFTER_S)
            self._wake.wait(max(1.0, due - now))

    def _measure(self, followed: _FollowedIterator) -> None:
        iterator = followed.iterator()
        if iterator is None:
            with self._lock:
                self._followed = [each for each in self._followed if each is not followed]
            return
        nodes = measure_stages(iterator)
        made = sum(node["elements"] + node["buffered"] for node in nodes)
        if made == followed.last_reported:
            return  # nothing has moved since
        followed.last_reported = made
        self._report(
            PipelineMeasured(
                at=time.time(),
                number=followed.number,
                role=followed.role,
                seconds=time.monotonic() - followed.began,
                stages=followed.stages,
                nodes=nodes,
            )
        )
        followed.stages = []  # told once

    def _report(self, event: PipelineMeasured) -> None:
        self._events += 1
        if self._events <= MAX_EVENTS:
            self._probe.emit(event)


def measure_stages(iterator: Any) -> list[dict[str, Any]]:
    """The stages as TensorFlow runs them, the source first: name, elements, seconds, at_a_time, buffered."""
    __import__(MODEL_OPS)
    model = sys.modules[MODEL_OPS].get_model_proto(iterator)
    nodes: list[dict[str, Any]] = []
    waiting = [model.output]
    while waiting:
        node = model.nodes[waiting.pop()]
        parameters = {parameter.name: parameter.value for parameter in node.parameters}
        nodes.append(
            {
                "name": node.name,
                "elements": int(node.num_elements),
                "seconds": node.processing_time / 1e9,
                "at_a_time": int(parameters.get("parallelism", 1)),
                "buffered": int(node.buffered_elements),
            }
        )
        waiting.extend(node.inputs)
    nodes.reverse()
    return nodes
