"""The program's lines inside a function that AutoGraph of TensorFlow has rewritten: a tf.function, the function of a map.

The rewritten code lies in a file of its own, and the error that goes on has lost its frames: its text alone names the user's
lines. The error that it was made from still has them, with the names that the user gave.
"""

from __future__ import annotations

import ast
import re
import time
from types import FrameType, SimpleNamespace
from typing import Any, Optional

from unstall.probe.core.user_code import find_last_line, is_user_path
from unstall.probe.errors import failing_lines

MAX_CHAIN = 6
MAX_LINES = 4
_GENERATED = "__autograph_generated_file"
_PREFIX = "tf__"
# `File "train.py", line 14, in load  *`: the star marks a line of a function that was rewritten.
_QUOTED = re.compile(r'^ *File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<function>[\w<>.]+)  \*$', re.MULTILINE)


def inspect_lines(error: Any, until: float) -> list[dict[str, Any]]:
    """Outermost first: those that the text of the error names, with the values of the rewritten functions."""
    quoted = [(each["file"], int(each["line"]), each["function"]) for each in _QUOTED.finditer(str(error))]
    frames = _find_frames(error) if quoted else []
    rows: list[dict[str, Any]] = []
    for file, line, function in reversed(quoted):
        frame = next((each for each in frames if _name_of(each) == function.strip("<>")), None)
        if frame is None or not is_user_path(file) or len(rows) >= MAX_LINES or time.monotonic() > until:
            continue
        frames.remove(frame)
        rows.append(failing_lines.inspect_place(_as_written(frame, file, line, function), line, until))
    return rows[::-1]


def _find_frames(error: Any) -> list[FrameType]:
    """Of rewritten functions, innermost first, in the errors that this one was made from."""
    for _ in range(MAX_CHAIN):
        if error is None:
            break
        traceback, found = getattr(error, "__traceback__", None), []
        while traceback is not None:
            if _GENERATED in traceback.tb_frame.f_code.co_filename and _name_of(traceback.tb_frame):
                found.append(traceback.tb_frame)
            traceback = traceback.tb_next
        if found:
            return found[::-1]
        error = getattr(error, "__cause__", None) or getattr(error, "__context__", None)
    return []


def _name_of(frame: FrameType) -> str:
    """What the user calls the function; empty for a part of it that was made a function."""
    name = frame.f_code.co_name
    return name[len(_PREFIX) :] if name.startswith(_PREFIX) else "lambda" if name == "<lambda>" else ""


def _as_written(frame: FrameType, file: str, line: int, function: str) -> Any:
    """The names of the rewritten function, in the place of the user's."""
    place = SimpleNamespace(f_globals=frame.f_globals, f_locals=frame.f_locals)
    tree = failing_lines.parse_file(file, place, {})  # type: ignore[arg-type]
    node = _find_definition(tree, line, function)
    names = tuple(each.arg for each in [*node.args.args, *node.args.kwonlyargs]) if node is not None else ()
    place.f_code = SimpleNamespace(
        co_filename=file,
        co_name=function,
        co_firstlineno=node.lineno if node is not None else line,
        co_varnames=names,
        co_argcount=len(names),
        co_kwonlyargcount=0,
    )
    return place


def _find_definition(tree: Optional[ast.AST], line: int, function: str) -> Any:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] if tree is not None else []
    around = [node for node in nodes if node.name == function and node.lineno <= line <= find_last_line(node)]
    return around[-1] if around else None
