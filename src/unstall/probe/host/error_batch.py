"""The numbers that a step was given when an error ended the program: of the batch in hand, and of the lines that failed.

A loss that refuses its numbers says that they are out of range, and not that the data holds a NaN. So the batch that it was
given is looked at, as far as it is still there and lies in host memory, and within a time limit.
"""

from __future__ import annotations

import linecache
import re
import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Optional

from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import is_user_code
from unstall.probe.input import batch_stats
from unstall.probe.input.batch_samples import AT_THE_ERROR, batch_facts_of

SEARCH_S = 0.5
MAX_ELEMENTS = 4_000_000  # of one array
MAX_ARRAYS = 12


def tell(probe: Probe, traceback: Optional[TracebackType]) -> None:
    if "numpy" not in sys.modules or not any(name in sys.modules for name in ("torch", "jax", "tensorflow")):
        return
    until = time.monotonic() + SEARCH_S
    facts = batch_facts_of(probe)
    described: list[dict[str, Any]] = []
    seen: set[int] = set()
    for role, name, value in [*facts.current_arrays(), *_variables(traceback)]:
        if id(value) in seen or len(described) >= MAX_ARRAYS or time.monotonic() > until:
            continue
        seen.add(id(value))
        try:
            found = _described(role, name, value, until)
        except (TypeError, ValueError, RuntimeError, AttributeError):  # of a device, of a kind that NumPy has not, or deleted
            continue
        if found is not None:
            described.append(found)
    if described:
        facts.tell(AT_THE_ERROR, described)


def _described(role: str, name: str, value: Any, until: float) -> Optional[dict[str, Any]]:
    array = _as_array(value)
    if array is None:
        return None
    facts = batch_stats.describe(role, name, array, MAX_ELEMENTS)
    if facts.get("not_finite"):
        row = batch_stats.first_bad_row(array, until, time.monotonic)
        if row is not None:
            facts["first_bad_row"] = row
    return facts


def _as_array(value: Any) -> Optional[Any]:
    if type(value).__module__.startswith("jaxlib") and hasattr(value, "devices"):
        on_host = all(device.platform == "cpu" for device in value.devices())
        return batch_stats.as_array(sys.modules["numpy"].asarray(value)) if on_host else None
    return batch_stats.as_array(value)


def _variables(traceback: Optional[TracebackType]) -> Iterator[batch_stats.Part]:
    """What stands in the lines of the traceback: in the program's own, and in the one that raised; the innermost first."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    for depth, (frame, number) in enumerate(reversed(frames)):
        if depth and not is_user_code(frame.f_code):
            continue
        line = linecache.getline(frame.f_code.co_filename, number)
        role = "variable" if is_user_code(frame.f_code) else "argument"
        for name, value in list(frame.f_locals.items()):
            if re.search(rf"\b{re.escape(name)}\b", line):
                yield from batch_stats.name_arrays(role, value, name)
