"""File patterns: what they found, which may be the data; and that they match nothing, on which many programs then train."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from unstall.journal.events import PatternMatchedNothing
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import calling_code, is_user_code, user_place
from unstall.probe.input.data_files import meet

MAX_EVENTS = 50
MAX_SEEN = 200


def install(module: ModuleType, probe: Probe) -> None:
    """glob, and tensorflow.python.lib.io.file_io (tf.io.gfile.glob)."""
    name = "glob" if module.__name__ == "glob" else "get_matching_files_v2"
    wrap(module, name, _watched(probe))


def _watched(probe: Probe) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    told = seen = 0

    def record(pattern: Any) -> None:
        nonlocal told
        told += 1
        where = user_place(4)
        if told <= MAX_EVENTS and where is not None:
            probe.emit(PatternMatchedNothing(at=time.time(), pattern=str(pattern)[:500], where=where))

    def see(found: list[Any]) -> None:
        nonlocal seen
        seen += 1
        if seen <= MAX_SEEN and is_user_code(calling_code(3)):  # libraries look for files of their own
            meet(probe, found, "glob")

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def glob(pathname: Any, *args: Any, **kwargs: Any) -> Any:
            found = original(pathname, *args, **kwargs)
            if probe.active and isinstance(found, list):
                probe.shield.call("patterns", record, pathname) if not found else probe.shield.call("patterns", see, found)
            return found

        return glob

    return make
