"""How often each compiled function is traced anew, how long that takes, and why: tf.function, and jit on JAX.

The hook of TensorFlow sits where a trace is made, so that a call without a trace costs nothing here. JAX tells of its own
accord (jax.monitoring).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, Optional

from unstall.journal.events import FunctionTraced
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_code_place, find_user_place
from unstall.probe.coverage import COMPILATIONS, get_coverage

REPORT_INTERVAL_S = 1.0  # for each function
REPORT_EACH_UP_TO = 3  # the first traces are told one by one
MAX_FUNCTIONS = 500
_DATA_MODULES = "tensorflow.python.data."  # functions of a pipeline's stages are traced once for each stage: not steps
_UNWRAPPED = 10
_WRAPPED = ("__wrapped__", "_python_function", "func")


def get_python_function(function: Any) -> Any:
    """What the user wrote, under the wrappers that frameworks put around it."""
    for _ in range(_UNWRAPPED):
        inner = next(filter(callable, (getattr(function, name, None) for name in _WRAPPED)), None)
        if inner is None:
            break
        function = inner
    return function


class TracedFunction:
    """All traces of one function. Functions made anew from the same lines of code count as one."""

    def __init__(self, name: str, where: Optional[str]) -> None:
        self.name = name
        self.where = where
        self.count = 0
        self.calls = 0
        self.seconds = 0.0
        self.reported_at = 0.0
        self.reasons: dict[str, int] = {}
        self.objects = 0
        self.graph_loop: Any = None  # counts the batches, or the steps, of a loop inside it that trains
        self.loss_path: Optional[tuple[Any, ...]] = None  # where the loss stands in what it gives back
        self._cache: Any = None
        self._types: dict[str, str] = {}

    def add(self, seconds: float, cache: Any, types: dict[str, str]) -> None:
        self.count += 1
        self.seconds += seconds
        if self.count > 1:
            reason = "made anew" if cache is not self._cache else _what_changed(self._types, types) if types else "new shape"
            self.reasons[reason] = self.reasons.get(reason, 0) + 1
        if cache is not self._cache:
            self.objects += 1
        self._cache, self._types = cache, types


def _what_changed(before: dict[str, str], now: dict[str, str]) -> str:
    """`value of step`, `shape of words`, `type of x`: of the first argument that differs from the trace before."""
    for name, text in now.items():
        old = before.get(name)
        if old is None or old == text:
            continue
        if text.startswith("Literal[") and old.startswith("Literal["):
            return f"value of {name}"
        if _without_shapes(old) == _without_shapes(text):
            return f"shape of {name}"
        return f"type of {name}"
    return "other"


def _without_shapes(text: str) -> str:
    parts = text.split("shape=")
    return parts[0] + "".join(part.partition("dtype=")[2] for part in parts[1:])


class Traces:
    def __init__(self, probe: Probe) -> None:
        self.functions: dict[Any, TracedFunction] = {}
        self.own: set[str] = set()  # functions of a JAX loop of which the loop itself tells
        self.compiled_s = 0.0  # that JAX has spent on tracing and compiling
        self._probe = probe
        self._lock = threading.Lock()

    def of(self, function: Any) -> Optional[TracedFunction]:
        """The record of a function, by its code; None when there are too many to keep."""
        inner = get_python_function(function)
        code: Optional[CodeType] = getattr(inner, "__code__", None)
        key = code if code is not None else type(inner)
        record = self.functions.get(key)
        if record is None and len(self.functions) < MAX_FUNCTIONS:
            name = getattr(inner, "__qualname__", type(inner).__name__).replace("<locals>.", "")
            record = self.functions[key] = TracedFunction(name, find_code_place(inner))
        return record

    def traced(self, record: TracedFunction, seconds: float, cache: Any, types: dict[str, str]) -> None:
        with self._lock:
            record.add(seconds, cache, types)
            now = time.monotonic()
            if record.count > REPORT_EACH_UP_TO and now - record.reported_at < REPORT_INTERVAL_S:
                return
            record.reported_at = now
        called_at = find_user_place()
        why = max(record.reasons, key=lambda reason: record.reasons[reason]) if record.reasons else ""
        self._probe.emit(
            FunctionTraced(
                at=time.time(),
                function=record.name,
                where=record.where,
                called_at=called_at,
                count=record.count,
                calls=max(record.calls, record.count),
                seconds=record.seconds,
                step=self._probe.train.done if self._probe.fit_depth else -1,
                why=why,
                objects=record.objects,
            )
        )


def get_traces(probe: Probe) -> Traces:
    """The one record of a probe."""
    traces: Optional[Traces] = probe.extras.get("traces")
    if traces is None:
        traces = probe.extras["traces"] = Traces(probe)
    return traces


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.polymorphic_function.tracing_compilation"""
    traces = get_traces(probe)

    def note(options: Any, function_type: Any, seconds: float) -> None:
        if str(getattr(options.python_function, "__module__", "")).startswith(_DATA_MODULES):
            return
        record = traces.of(options.python_function)
        if record is not None:
            types = {name: repr(parameter.type_constraint)[:300] for name, parameter in function_type.parameters.items()}
            traces.traced(record, seconds, options.function_cache, types)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _create_concrete_function(function_type: Any, type_context: Any, func_graph: Any, tracing_options: Any) -> Any:
            began = time.monotonic()
            concrete = original(function_type, type_context, func_graph, tracing_options)
            if probe.active:
                probe.shield.call("traces", note, tracing_options, function_type, time.monotonic() - began)
            return concrete

        return _create_concrete_function

    wrap(module, "_create_concrete_function", make)


def install_methods(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.function (up to TensorFlow 2.9) and its successor, polymorphic_function.tracing_compiler (up to
    2.13): there a trace is made by a method of the function."""
    traces = get_traces(probe)

    def note(function: Any, args: Any, kwargs: Any, seconds: float) -> None:
        if str(getattr(function._python_function, "__module__", "")).startswith(_DATA_MODULES):
            return
        record = traces.of(function._python_function)
        if record is not None:
            names = list(getattr(getattr(function, "_function_spec", None), "arg_names", None) or ())
            traces.traced(record, seconds, function._function_cache, describe_types(names, args or (), kwargs or {}))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _create_graph_function(function: Any, args: Any, kwargs: Any, *more: Any, **named: Any) -> Any:
            began = time.monotonic()
            concrete = original(function, args, kwargs, *more, **named)
            if probe.active:
                probe.shield.call("traces", note, function, args, kwargs, time.monotonic() - began)
            return concrete

        return _create_graph_function

    wrap(getattr(module, "Function", None), "_create_graph_function", make)
    wrap(getattr(module, "TracingCompiler", None), "_create_concrete_function", make)


def describe_types(names: list[str], args: Any, kwargs: dict[str, Any]) -> dict[str, str]:
    """The arguments of a trace in the words that newer versions have for them: what makes two traces differ."""
    given = {names[place] if place < len(names) else f"argument {place + 1}": value for place, value in enumerate(args)}
    given.update(kwargs)
    return {name: _type_of(value)[:300] for name, value in given.items()}


def _type_of(value: Any) -> str:
    if isinstance(value, (str, bytes)):
        return f"Literal[{value[:100]!r}]"
    if isinstance(value, (bool, int, float, type(None))):
        return f"Literal[{value!r}]"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"TensorSpec(shape={value.shape}, dtype={value.dtype!r})"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_type_of, value[:8]))})"
    if isinstance(value, dict):
        return f"({', '.join(_type_of(value[key]) for key in list(value)[:8])})"
    return type(value).__qualname__


_JAX_TIMES = ("/jax/core/compile/jaxpr_trace_duration", "/jax/core/compile/jaxpr_to_mlir_module_duration")
_JAX_COMPILED = "/jax/core/compile/backend_compile_duration"


def install_jax(module: ModuleType, probe: Probe) -> bool:
    """jax.monitoring. One compilation is told as one trace, with the time of all its parts.

    Only those between the steps of a training: before it, many small functions are rightly compiled once for each shape.
    """
    traces = get_traces(probe)
    open_s: dict[str, float] = {}

    def note(event: str, seconds: float, name: str) -> None:
        name = name[4:-1] if name.startswith("jit(") else name
        if not name and not traces.own:  # up to JAX 0.4 it is not said which function it is, and they must not count as one
            get_coverage(probe).hook_is_blind((COMPILATIONS,), ("jax",))
        if not name or name in traces.own:
            return
        if event in _JAX_TIMES:
            open_s[name] = open_s.get(name, 0.0) + seconds
            return
        key = ("jax", name)
        record = traces.functions.get(key)
        if record is None:
            if len(traces.functions) >= MAX_FUNCTIONS:
                return
            record = traces.functions[key] = TracedFunction(name, None)
        record.calls = probe.train.done
        traces.traced(record, seconds + open_s.pop(name, 0.0), None, {})

    def listen(event: str, duration: float, **details: Any) -> None:
        if event != _JAX_COMPILED and event not in _JAX_TIMES:
            return
        traces.compiled_s += duration
        if probe.active and probe.phase == "train":
            probe.shield.call("jax compilations", note, event, duration, str(details.get("fun_name", "")))

    register = getattr(module, "register_event_duration_secs_listener", None)
    if register is not None:
        register(listen)
    return register is not None
