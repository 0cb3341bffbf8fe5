"""Keeps our frames out of the errors that the frameworks write: a watched program prints what it would print alone.

Keras and TensorFlow shorten tracebacks by leaving out their own files; ours are added to those. TensorFlow also keeps the stack
of every operation that is traced, and prints it when the operation fails; while a trace is made, our files are filtered
from it by TensorFlow's own means.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe

_OWN_FOLDER = str(Path(__file__).parents[1])  # of the probe
_OWN_FILES = frozenset(str(path) for path in Path(_OWN_FOLDER).rglob("*.py"))


def install_shortened(module: ModuleType, probe: Probe) -> None:
    """traceback_utils of keras.src, tf_keras.src and tensorflow.python."""
    excluded = getattr(module, "_EXCLUDED_PATHS", None)
    if isinstance(excluded, tuple) and _OWN_FOLDER not in excluded:
        module._EXCLUDED_PATHS = (*excluded, _OWN_FOLDER)  # type: ignore[attr-defined]


def install_traced(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.eager.polymorphic_function.tracing_compilation"""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def _create_concrete_function(*args: Any, **kwargs: Any) -> Any:
            own = probe.shield.call("frames", _filter) if probe.active else None
            if own is None:
                return original(*args, **kwargs)
            with own:
                return original(*args, **kwargs)

        return _create_concrete_function

    wrap(module, "_create_concrete_function", make)


def _filter() -> Optional[Any]:
    """A filter of TensorFlow's kind for our files, or None where this version has no such thing."""
    stacks = sys.modules.get("tensorflow.python.util.tf_stack")
    base = getattr(stacks, "StackTraceFilter", None)
    if base is None:
        return None

    class OwnFiles(base):  # type: ignore[misc, valid-type]
        parent: Any = None

        def get_filtered_filenames(self) -> frozenset[str]:
            above = self.parent.get_filtered_filenames() if self.parent is not None else frozenset()
            return frozenset(_OWN_FILES | above)

    return OwnFiles()
