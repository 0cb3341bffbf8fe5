"""The stages of tf.data pipelines, each with the user's line that made it: map, shuffle, batch, from_generator, …"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Optional

from unstall.inside.patching import MARK, wrap
from unstall.inside.places import code_place, user_place
from unstall.inside.probe import Probe
from unstall.journal.events import PipelineBuilt

METHODS = (
    "map", "flat_map", "interleave", "filter", "shuffle", "batch", "padded_batch", "ragged_batch", "prefetch", "cache", "repeat",
    "take", "skip", "shard", "unbatch", "apply", "snapshot", "ignore_errors",
)  # fmt: skip
STATIC = ("from_generator", "list_files", "from_tensor_slices", "from_tensors", "range", "zip")
MOST_STAGES = 400  # a program that builds pipelines in a loop must not fill the journal


def install(module: ModuleType, probe: Probe) -> None:
    dataset = module.DatasetV2
    recorder = _Recorder(probe)
    for name in METHODS:
        wrap(dataset, name, recorder.method(name))
    for name in STATIC:
        _wrap_static(dataset, name, recorder)


def _wrap_static(owner: type, name: str, recorder: _Recorder) -> None:
    original = owner.__dict__.get(name)
    if not isinstance(original, staticmethod) or hasattr(original.__func__, MARK):
        return
    inner = original.__func__

    import functools

    @functools.wraps(inner)
    def function(*args: Any, **kwargs: Any) -> Any:
        recorder.note(name, args, kwargs)
        return inner(*args, **kwargs)

    setattr(function, MARK, inner)
    setattr(owner, name, staticmethod(function))


class _Recorder:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._stages = 0

    def method(self, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def make(original: Callable[..., Any]) -> Callable[..., Any]:
            def stage(dataset: Any, *args: Any, **kwargs: Any) -> Any:
                self.note(name, args, kwargs)
                return original(dataset, *args, **kwargs)

            return stage

        return make

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._probe.active and self._stages < MOST_STAGES:
            self._probe.shield.call("pipeline", self._record, name, args, kwargs)

    def _record(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        where = user_place(4)
        if where is None:
            return  # a stage that a library built for itself
        self._stages += 1
        arguments = {f"argument_{index}": shown for index, value in enumerate(args) if (shown := _shown(value)) is not None}
        arguments.update({key: shown for key, value in kwargs.items() if (shown := _shown(value)) is not None})
        function = next((value for value in (*args, *kwargs.values()) if callable(value)), None)
        if function is not None:
            arguments["function"] = getattr(function, "__qualname__", type(function).__name__)
            arguments["function_where"] = code_place(function)
        self._probe.emit(PipelineBuilt(at=time.time(), stage=name, where=where, arguments=arguments))


def _shown(value: Any) -> Optional[Any]:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value[:200]
    if hasattr(value, "numpy") and getattr(value, "shape", None) == ():
        return str(value.numpy())[:200]
    return None
