"""What an error held inside a Python function that TensorFlow calls: tf.py_function, tf.numpy_function, and the generators that
from_generator and a PyDataset of Keras are read by.

TensorFlow makes a text of the error, and raises another one in the step that wanted the element: the frames of the function
are gone by then. So they are looked at where the error leaves the function. A generator whose element was refused is not in
the traceback at all; it still stands at its `yield`. Nothing is kept but plain data, and nothing is resumed.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable
from types import FrameType, GeneratorType, ModuleType, TracebackType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import is_user_code
from unstall.probe.errors import failing_lines

MAX_KEPT = 8  # errors: the one that ends the program may not be the last of several threads
MAX_DEPTH = 8  # generators that yield from others
MIN_LETTERS = 3  # of a message by which an error is known again
MAX_LETTERS = 160
_SEEN = "errors of python functions"
_ENDS = (StopIteration, GeneratorExit, KeyboardInterrupt, SystemExit)


def install(module: ModuleType, probe: Probe) -> None:
    """tensorflow.python.ops.script_ops: what calls the functions."""
    seen: Any = probe.extras.setdefault(_SEEN, deque(maxlen=MAX_KEPT))

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(*args: Any, **kwargs: Any) -> Any:
            has_failed = True
            try:
                result = original(*args, **kwargs)
                has_failed = False
                return result
            finally:  # nothing is caught: the error goes on as it is
                if has_failed and probe.active and not isinstance(sys.exc_info()[1], _ENDS):
                    probe.shield.within_budget("errors of python functions", note, sys.exc_info()[1])

        return __call__

    def note(error: Any) -> None:
        until = time.monotonic() + failing_lines.SECONDS
        lines = failing_lines.inspect_lines(error.__traceback__, until)
        calls = failing_lines.inspect_calls(error.__traceback__, until) if lines else []
        row = {"text": _text_of(error), "lines": lines, "calls": calls, "makers": _find_generator(error.__traceback__, until)}
        if row["lines"] or row["makers"]:
            seen.append(row)

    wrap(getattr(module, "FuncRegistry", None), "__call__", make)


def find_seen(probe: Probe, error: Any) -> dict[str, Any]:
    """What was seen of the error whose text this one quotes."""
    message = str(error)
    for row in reversed(list(probe.extras.get(_SEEN) or ())):
        if row["text"] and row["text"] in message:
            return {name: row[name] for name in ("lines", "calls", "makers")}
    return {}


def _text_of(error: BaseException) -> str:
    """As TensorFlow quotes it: the kind and the first line of what it says."""
    said = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {said}"[:MAX_LETTERS] if len(said) >= MIN_LETTERS else ""


def _find_generator(traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    """The `yield` of an element that TensorFlow refused, where the generator itself did not fail."""
    while traceback is not None:
        names, traceback = traceback.tb_frame.f_locals, traceback.tb_next
        iterators = getattr(names.get("generator_state"), "__dict__", {}).get("_iterators")
        if type(iterators) is not dict or "values" not in names:
            continue
        number = names.get("iterator_id")
        open_ones = [each for key, each in list(iterators.items()) if number is None or _number(key) == _number(number)]
        frame = _innermost(open_ones[0]) if len(open_ones) == 1 else None
        if frame is not None:
            line = failing_lines.inspect_frame(frame, until)
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            return [{"what": "generator", "name": frame.f_code.co_name, "where": where, "line": line}]
    return []


def _number(value: Any) -> Optional[int]:
    """A plain number, or one of NumPy's."""
    kind = type(value)
    is_number = kind is int or kind.__module__ == "numpy"
    return int(value) if is_number else None


def _innermost(iterator: Any) -> Optional[FrameType]:
    """Of generators that yield from others, the one that stands at its own `yield`."""
    found: Optional[FrameType] = None
    for _ in range(MAX_DEPTH):
        frame = iterator.gi_frame if type(iterator) is GeneratorType else None
        if frame is None or frame.f_lasti < 0:
            break
        found = frame if is_user_code(frame.f_code) else found
        iterator = iterator.gi_yieldfrom
    return found
