"""Training steps of TensorFlow 1 and `tf.compat.v1`: calls of `Session.run` that update weights, and the loss that they fetch.

A session runs a part of a graph. It is a training step where the operations that are fetched lead, by control dependencies, to
one that applies gradients. Estimators, monitored sessions and `slim` come down to the same call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.coverage import GRADIENTS, LEARNING_RATE, LOSS, STEPS, WEIGHTS, get_coverage
from unstall.probe.loop.custom_training import get_loop
from unstall.probe.loop.losses import is_float_scalar

MAX_OPERATIONS = 4000  # that are looked at for each new set of fetches
MAX_KINDS = 1000  # of sets of fetches that are remembered
_APPLIES = ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")
_WAYS = frozenset({"NoOp", "Assign", "AssignAdd", "AssignVariableOp", "AssignAddVariableOp", "Identity", "ReadVariableOp"})


class _Fetches:
    """What is known of one set of fetches."""

    def __init__(self, trains: Optional[str], loss: Optional[tuple[Any, ...]]) -> None:
        self.trains = trains  # the operation among them that makes a step: hooks of a monitored session fetch others beside it
        self.loss = loss  # the way to it in the result


class Sessions:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._loop = get_loop(probe)
        self._known: dict[Any, _Fetches] = {}
        self._inside = threading.local()

    def run(self, original: Callable[..., Any], session: Any, fetches: Any, args: Any, kwargs: Any) -> Any:
        if getattr(self._inside, "depth", 0):
            return original(session, fetches, *args, **kwargs)
        self._inside.depth = 1
        began = time.monotonic()
        try:
            result = original(session, fetches, *args, **kwargs)
        finally:
            self._inside.depth = 0
        self._probe.shield.call("sessions", self._ended, session, fetches, result, began)
        return result

    def _ended(self, session: Any, fetches: Any, result: Any, began: float) -> None:
        key = _key(fetches)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_KINDS:
                return
            known = self._known[key] = _Fetches(*_look(session.graph, fetches))
            if known.trains is not None:
                seen = (STEPS,) if known.loss is None else (STEPS, LOSS)
                coverage = get_coverage(self._probe)
                coverage.hook_installed("tensorflow", seen)
                # They are operations of the graph.
                coverage.hook_is_blind((GRADIENTS, WEIGHTS, LEARNING_RATE), ("tensorflow",))
        if known.trains is not None:
            self._loop.trained(known.trains, began, lambda: _at(result, known.loss))
        else:
            self._loop.progressed()


def _key(fetches: Any) -> Any:
    """The names of what is fetched, in order: programs make a new list for each call."""
    return tuple(getattr(leaf, "name", leaf if isinstance(leaf, str) else "") for _, leaf in _leaves(fetches))


def _leaves(fetches: Any, way: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Any]]:
    if isinstance(fetches, dict):
        return [leaf for key in fetches for leaf in _leaves(fetches[key], (*way, key))]
    if isinstance(fetches, (list, tuple)):
        return [leaf for index, each in enumerate(fetches) for leaf in _leaves(each, (*way, index))]
    return [(way, fetches)]


def _look(graph: Any, fetches: Any) -> tuple[Optional[str], Optional[tuple[Any, ...]]]:
    """The operation that trains, and the way to the loss: of the scalars that are fetched the total loss before others."""
    operations: list[Any] = []
    scalars: list[tuple[tuple[bool, bool, int], tuple[Any, ...]]] = []
    for way, leaf in _leaves(fetches):
        element = _element(graph, leaf)
        operation = getattr(element, "op", element)
        if operation is None:
            continue
        operations.append(operation)
        dtype, shape = getattr(element, "dtype", None), getattr(element, "shape", None)
        if getattr(dtype, "is_floating", False) and getattr(shape, "ndims", None) in (0, None):
            name = str(element.name).lower()
            scalars.append((("loss" not in name, "total" not in name, len(scalars)), way))
    trains = next((str(operation.name) for operation in operations if _applies_gradients(operation)), None)
    return trains, min(scalars)[1] if scalars else None


def _element(graph: Any, leaf: Any) -> Any:
    """The tensor or operation of a graph; None for what is made of several, such as a sparse tensor."""
    try:
        return graph.as_graph_element(leaf)
    except (TypeError, ValueError, KeyError):
        return None


def _applies_gradients(fetched: Any) -> bool:
    """Whether it is, or waits for, an operation that applies gradients. What computes is not gone through."""
    waiting = [fetched]
    met: set[str] = set()
    while waiting and len(met) < MAX_OPERATIONS:
        operation = waiting.pop()
        if operation.name in met:
            continue
        met.add(operation.name)
        if operation.type.startswith(_APPLIES):
            return True
        waiting += operation.control_inputs
        if operation.type in _WAYS:
            waiting += [tensor.op for tensor in operation.inputs]
    return False


def _at(result: Any, way: Optional[tuple[Any, ...]]) -> Any:
    if way is None:
        return None
    for key in way:
        result = result[key]
    return result if is_float_scalar(result) or isinstance(result, float) else None


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.client.session, in all versions."""
    sessions = Sessions(probe)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(session: Any, fetches: Any, *args: Any, **kwargs: Any) -> Any:
            if not probe.active:
                return original(session, fetches, *args, **kwargs)
            return sessions.run(original, session, fetches, args, kwargs)

        return run

    wrap(getattr(module, "BaseSession", None), "run", make)
