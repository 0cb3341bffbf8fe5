"""Which element of a data set of the program's own was being made when an error came, and what the elements hold under a key.

Read from the frame of `__getitem__` and from the lists that it takes the element from. None of the program's code is called.
"""

from __future__ import annotations

import time
from types import FunctionType, TracebackType
from typing import Any, Optional

from unstall.probe.core.user_code import is_user_code
from unstall.probe.errors import batch_elements, returned_parts
from unstall.probe.errors.values import is_known

MAX_READ = 200_000  # elements of a list
MAX_DISTINCT = 24


def find_example(traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    """The innermost `__getitem__` that was given a number."""
    frames = []
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code) and traceback.tb_frame.f_code.co_name == "__getitem__":
            frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    for frame in reversed(frames):
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount]
        if len(names) != 2 or not all(name in frame.f_locals for name in names) or time.monotonic() > until:
            continue
        owner, index = (frame.f_locals[name] for name in names)
        if type(index) is int and index >= 0 and not is_known(type(owner)):
            made = batch_elements.find_made_from(owner, index, until)
            return [{"what": "example", "name": f"{type(owner).__name__}.__getitem__", **made, "index": index}]
    return []


def list_numbers(dataset: Any, method: Any, parts: int) -> list[dict[str, Any]]:
    """For a part that is the whole number under a key of the element: which numbers all elements have there."""
    rows = []
    for part in range(parts) if type(method) is FunctionType else []:
        attribute, key = returned_parts.find_key_of_element(method, part)
        listed: Any = getattr(dataset, "__dict__", {}).get(attribute) if attribute else None
        if type(listed) is not list or not 0 < len(listed) <= MAX_READ or not all(type(each) is dict for each in listed):
            continue
        numbers = {each.get(key) for each in listed if type(each.get(key)) is int}
        if 0 < len(numbers) <= MAX_DISTINCT and all(type(each.get(key)) is int for each in listed):
            rows.append(
                {"part": part, "name": f"self.{attribute}", "key": key, "distinct": sorted(numbers), "length": len(listed)}
            )
    return rows
