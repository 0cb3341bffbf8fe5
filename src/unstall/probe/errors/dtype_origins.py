"""Since which of the program's lines an array is float64, where an error says that float64 and float32 do not go together.

The array is found by its shape among the names of the functions that the error passed through. What gave it its value is followed
back through the source, into functions that have returned, too: nothing is called.
"""

from __future__ import annotations

import ast
import linecache
import re
import time
from types import FrameType, TracebackType
from typing import Any, Optional

from unstall.probe.core.user_code import is_user_code
from unstall.probe.errors import failing_lines, returned_parts
from unstall.probe.errors.values import read_dtype, read_shape

MAX_FOLLOWED = 12  # statements
MAX_OPERANDS = 3
WIDE = "float64"
_ASKED = re.compile(r"\b(?:float64|[Dd]ouble)\b")
_NUMPY = ("np", "numpy", "onp")
# Functions of NumPy that make float64 where no dtype is given.
_MAKES = ("loadtxt", "genfromtxt", "zeros", "ones", "empty", "linspace", "eye", "identity", "fromstring", "fromfile")
_DRAWS = (
    "normal",
    "uniform",
    "random",
    "standard_normal",
    "rand",
    "randn",
    "gamma",
    "beta",
    "exponential",
    "multivariate_normal",
)


def find_origins(error: Any, traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    if _ASKED.search(str(error)) is None:
        return []
    frames = []
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code):
            frames.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    failing = _failing_shapes(frames)
    for frame, line in reversed(frames):
        for name, value in list(frame.f_locals.items()):
            shape = read_shape(value) if _is_wide(value) and type(value).__module__ == "numpy" else None
            if shape and shape[1:] in failing and time.monotonic() < until:
                row = _follow(frame, line, name)
                if row is not None:
                    return [{"what": "dtype", "name": name, "dtype": WIDE, "shape": shape, **row}]
    return []


def _failing_shapes(frames: list[tuple[FrameType, int]]) -> list[list[int]]:
    """Without the first side, which counts examples: of what is float64 in the innermost function."""
    if not frames:
        return []
    values = list(frames[-1][0].f_locals.values())
    shapes = [read_shape(value) for value in values if _is_wide(value)]
    return [shape[1:] for shape in shapes if shape]


def _is_wide(value: Any) -> bool:
    return read_shape(value) is not None and read_dtype(value) == WIDE


def _follow(frame: FrameType, line: int, name: str) -> Optional[dict[str, Any]]:
    file = frame.f_code.co_filename
    tree = failing_lines.parse_file(file, frame, {})
    body: Any = failing_lines.find_function(tree, frame.f_code.co_firstlineno, frame.f_code.co_name) if tree is not None else None
    statement = failing_lines.find_statement(body or tree, line)
    seen = 0
    while statement is not None and seen < MAX_FOLLOWED:
        seen += 1
        made = failing_lines.find_assignment(body or tree, name, statement)
        value = getattr(made, "value", None)
        if made is None or value is None:
            return None
        call, part = returned_parts.find_call_to(made, name)
        inside = _inside(frame, call, part)
        if inside is not None:
            return inside
        maker = _maker_in(value)
        if maker:
            return _row(file, made.lineno, maker, [])
        wide = [each for each in _names_in(value) if _is_wide(frame.f_locals.get(each, frame.f_globals.get(each)))]
        others = [each for each in wide if each != name]
        if name in _names_in(value) and others:
            return _row(file, made.lineno, "", others)  # with itself, as it was before
        if not others:
            return None
        name, statement = others[0], made
    return None


def _inside(frame: FrameType, call: Any, part: Optional[int]) -> Optional[dict[str, Any]]:
    """The line of a function of the program's own that has returned it."""
    function = frame.f_globals.get(getattr(call.func, "id", "")) if call is not None else None
    code, node = returned_parts.find_definition(function)
    value = returned_parts.find_returned(node)
    if isinstance(value, ast.Tuple):
        value = value.elts[part] if part is not None and part < len(value.elts) else None
    waiting = [(name, node.body[-1]) for name in _names_in(value)] if value is not None else []
    if value is not None and _maker_in(value):
        return _row(code.co_filename, value.lineno, _maker_in(value), [])
    for _ in range(MAX_FOLLOWED):
        if not waiting:
            break
        name, before = waiting.pop(0)
        made = failing_lines.find_assignment(node, name, before)
        inner = getattr(made, "value", None)
        if made is None or inner is None:
            continue
        maker = _maker_in(inner)
        if maker:
            return _row(code.co_filename, made.lineno, maker, [])
        waiting += [(each, made) for each in _names_in(inner)]
    return None


def _maker_in(node: Any) -> str:
    """The call in it that makes float64, where the expression says nothing of a dtype."""
    calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    if any(key.arg == "dtype" for call in calls for key in call.keywords) or any(_attribute(call) == "astype" for call in calls):
        return ""
    for call in calls:
        owner = getattr(getattr(call.func, "value", None), "id", "")
        if (owner in _NUMPY and _attribute(call) in _MAKES) or (
            isinstance(call.func, ast.Attribute) and _attribute(call) in _DRAWS
        ):
            is_random = _attribute(call) in _DRAWS
            return f"the random numbers of {_attribute(call)}" if is_random else f"{owner}.{_attribute(call)}"
    return ""


def _attribute(call: ast.Call) -> str:
    return getattr(call.func, "attr", "")


def _names_in(node: Any) -> list[str]:
    return list(dict.fromkeys(each.id for each in ast.walk(node) if isinstance(each, ast.Name)))


def _row(file: str, line: int, maker: str, operands: list[str]) -> dict[str, Any]:
    source = [linecache.getline(file, line).rstrip()]
    return {"where": f"{file}:{line}", "first": line, "source": source, "maker": maker, "operands": operands[:MAX_OPERANDS]}
