"""Gradients that are missing in TensorFlow: which variables have none, whether the loss depends on them, and what cuts them off.

`GradientTape.gradient` is wrapped. Where a gradient is None, and only there, the graph of the step is walked once from
the loss to the variables: the first operation without a gradient on that way carries the line that made it. An eager step
leaves no graph; there the source of the tape's block is read instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any, Optional

from unstall.journal.events import GradientsMissed
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import is_user_code
from unstall.probe.loop import replicas
from unstall.probe.loop.custom_training import OwnLoop, get_loop
from unstall.probe.model import gradient_cuts

MAX_PLACES = 20  # lines whose missing gradients are told
MAX_NAMES = 40
MAX_OPERATIONS = 200_000

# They are registered with a gradient, and it is None.
_FLAT = frozenset({"Round", "Rint", "Floor", "Ceil", "FloorDiv", "FloorMod", "ArgMax", "ArgMin", "Bucketize", "Multinomial"})
# Their value depends on the shape of their input alone.
_SHAPES = frozenset({"Shape", "ShapeN", "Rank", "Size", "ZerosLike", "OnesLike", "BroadcastGradientArgs"})


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.backprop"""
    watcher = TapeWatcher(probe, get_loop(probe))
    executing_eagerly = module.context.executing_eagerly

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def gradient(tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            result = original(tape, target, sources, *args, **kwargs)
            if probe.active:
                probe.shield.call("gradients", watcher.computed, began, target, sources, result, executing_eagerly())
            return result

        return gradient

    wrap(module.GradientTape, "gradient", make)


class TapeWatcher:
    def __init__(self, probe: Probe, loop: OwnLoop) -> None:
        self._probe = probe
        self._loop = loop
        self._reported: set[Any] = set()

    def computed(self, began: float, target: Any, sources: Any, result: Any, eager: bool) -> None:
        variables = _variables(sources)
        if not variables:
            return  # a gradient with respect to something else, such as a penalty on the inputs
        gradients = flatten(result)
        frame = _user_frame()
        if any(gradient is None for gradient in gradients) and len(gradients) == len(variables):
            self._missing(frame, target, variables, gradients, eager)
        stack = self._loop.functions()
        if stack:
            if stack[0] not in self._loop.trainers and not eager:
                self._loop.traced_loss(target)
            self._loop.trainers.add(stack[0])  # the tf.function around it is what trains
            self._loop.gradients_traced += 1
        elif eager:
            place = None if frame is None else (frame.f_code, frame.f_lineno)
            self._loop.trained(place, began, lambda: target if getattr(target, "shape", None) == () else None)
        self._loop.asked_for(variables)
        if eager and replicas.get_replica() is None:  # a replica has a new thread in each step: none can be profiled
            for see in self._loop.on_eager_step:
                see(frame)

    def _missing(self, frame: Optional[FrameType], target: Any, variables: list[Any], gradients: list[Any], eager: bool) -> None:
        place = None if frame is None else (frame.f_code, frame.f_lineno)
        if place in self._reported or len(self._reported) >= MAX_PLACES:
            return
        pairs = zip(variables, gradients)  # noqa: B905 - of equal length; `strict` is not of Python 3.7
        missing = [variable for variable, gradient in pairs if gradient is None and is_trainable(variable)]
        if not missing:
            return
        self._reported.add(place)
        self._loop.missed(missing)
        feeding: Optional[list[Any]] = None
        cut_at, cut_by = None, ""
        if hasattr(target, "op") and not eager:
            feeding, cut_at, cut_by = walk(target, missing)
        elif frame is not None and eager:
            cut_at, cut_by = gradient_cuts.find_cut_in_tape_block(frame)
        where = find_traced_line() if not eager else None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
        self._probe.emit(create_missing_event(self._probe, missing, variables, where, feeding, cut_at, cut_by))


def create_missing_event(
    probe: Probe,
    missing: list[Any],
    variables: list[Any],
    where: Optional[str],
    feeding: Optional[list[Any]],
    cut_at: Optional[str],
    cut_by: str,
) -> GradientsMissed:
    return GradientsMissed(
        at=time.time(),
        missing=[get_name(variable) for variable in missing[:MAX_NAMES]],
        total=len(variables),
        missing_parameters=sum(count_elements(variable) for variable in missing),
        parameters=sum(count_elements(variable) for variable in variables),
        where=where,
        feeding=None if feeding is None else [get_name(variable) for variable in feeding[:MAX_NAMES]],
        cut_at=cut_at,
        cut_by=cut_by,
        step=probe.train.done if probe.fit_depth else -1,
    )


def _user_frame() -> Optional[FrameType]:
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and not is_user_code(frame.f_code):
        frame = frame.f_back
    return frame


def _variables(sources: Any) -> list[Any]:
    """The sources, if all of them are variables."""
    found = flatten(sources)
    return found if found and all(hasattr(source, "assign") for source in found) else []


def flatten(value: Any) -> list[Any]:
    """What lies in nested lists, tuples and dicts, in TensorFlow's order."""
    if isinstance(value, (list, tuple)):
        return [part for each in value for part in flatten(each)]
    if isinstance(value, dict):
        return [part for key in sorted(value) for part in flatten(value[key])]
    return [value]


def is_trainable(variable: Any) -> bool:
    return bool(getattr(variable, "trainable", True))


def get_name(variable: Any) -> str:
    name = str(getattr(variable, "path", None) or getattr(variable, "name", ""))
    return name[:-2] if name.endswith(":0") else name


def count_elements(variable: Any) -> int:
    size = 1
    for part in getattr(variable, "shape", ()):
        size *= int(part or 0)
    return size


def walk(loss: Any, missing: list[Any]) -> tuple[list[Any], Optional[str], str]:
    """(those of the missing that the loss depends on, the user's line that cuts them off, what cuts)."""
    graph = loss.op.graph
    inside = {id(outer): inner.op for outer, inner in getattr(graph, "captures", ())}
    handles = {id(_handle(variable)): variable for variable in missing}
    entries = {inside[handle]: variable for handle, variable in handles.items() if handle in inside}
    used = find_behind(loss.op)
    feeding = [variable for entry, variable in entries.items() if entry in used]
    carrying = {entry for entry in entries if entry in used}
    cutting = None
    for operation in sorted(used, key=lambda operation: operation._id):
        if operation in carrying or not any(tensor.op in carrying for tensor in operation.inputs):
            continue
        if operation.type in _SHAPES:
            continue
        if _passes_gradients(operation):
            carrying.add(operation)
        elif cutting is None:
            cutting = operation
    if not feeding:
        return [], None, ""
    if loss.op in carrying and cutting is None:
        return feeding, find_operation_place(loss.op), "computed outside the tape"
    return feeding, find_operation_place(cutting), str(cutting.type) if cutting is not None else ""


def _handle(variable: Any) -> Any:
    inner = getattr(variable, "_value", None)  # a variable of Keras holds one of TensorFlow
    return getattr(inner if hasattr(inner, "handle") else variable, "handle", None)


def find_behind(operation: Any) -> set[Any]:
    """All that the value of an operation depends on."""
    seen = {operation}
    waiting = [operation]
    while waiting and len(seen) < MAX_OPERATIONS:
        current = waiting.pop()
        if current.type in _SHAPES:
            continue
        for tensor in current.inputs:
            if tensor.op not in seen:
                seen.add(tensor.op)
                waiting.append(tensor.op)
    return seen


def _passes_gradients(operation: Any) -> bool:
    if operation.type in _FLAT or not any(_can_carry(output.dtype) for output in operation.outputs):
        return False
    registry = sys.modules["tensorflow.python.framework.ops"]
    try:
        return registry.get_gradient_function(operation) is not None
    except LookupError:
        return False


def _can_carry(dtype: Any) -> bool:
    return bool(dtype.is_floating or dtype.is_complex or dtype.name in ("resource", "variant"))


def find_operation_place(operation: Any) -> Optional[str]:
    """The innermost line of the user's own that made an operation."""
    return _innermost_of_user(getattr(operation, "traceback", None))


def find_traced_line() -> Optional[str]:
    """The user's line that is being traced. TensorFlow's own stack knows it even where the code was rewritten."""
    stack = sys.modules.get("tensorflow.python.util.tf_stack")
    return _innermost_of_user(stack.extract_stack()) if stack is not None else None


def _innermost_of_user(stack: Any) -> Optional[str]:
    for frame in reversed(list(stack or ())):
        if gradient_cuts.is_user_file(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return None
