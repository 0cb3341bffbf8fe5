"""What an error of PyTorch leaves unsaid: which line changed a tensor in place, how many parameters the groups of an optimizer
have, and for which CUDA PyTorch was built.

The program's own functions and the forward methods of its models are read as source; none of them is called.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator
from types import FrameType, FunctionType, TracebackType
from typing import Any, Optional

from unstall.probe.core.user_code import find_last_line, is_user_code
from unstall.probe.errors import failing_lines, returned_parts
from unstall.probe.errors.unseen_lines import list_files
from unstall.probe.errors.values import is_known

MAX_MODULES = 500
MAX_FUNCTIONS = 60
MAX_CHANGES = 3
MAX_GROUPS = 8
_IN_PLACE = re.compile(r"modified by an inplace operation.*?which is output \d+ of (?P<name>\w+?)(?:Backward)?\d*,", re.DOTALL)
_GROUPS = re.compile(r"loaded state dict (?:has a different number of parameter groups|contains a parameter group)")
_DEVICE = re.compile(
    r"Torch not compiled with CUDA|No CUDA GPUs are available|Found no NVIDIA driver|CUDA driver version is insufficient"
    r"|driver on your system is too old|invalid device ordinal|not linked with support for"
)
_KEY_OF_DEVICE = re.compile(r"\[['\"](?P<key>\w*device\w*)['\"]\]", re.IGNORECASE)


def find_objects(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    if "torch" not in sys.modules:
        return []
    frames, at = [], traceback
    while at is not None:
        frames.append(at.tb_frame)
        at = at.tb_next
    return [*_changes_in_place(str(error), frames), *_groups(str(error), frames), *_build(str(error), traceback)]


# --- changes in place ---


def _changes_in_place(message: str, frames: list[FrameType]) -> list[dict[str, Any]]:
    """Statements that change what an operation of the message's kind has given."""
    match = _IN_PLACE.search(message)
    rows = []
    for owner, function in _functions(frames) if match is not None else ():
        code, node = returned_parts.find_definition(function)
        for statement, name, symbol in _changes(node):
            made = failing_lines.find_assignment(node, name, statement)
            if match is None or made is None or not _is_by(getattr(made, "value", None), match["name"], owner):
                continue
            source = [
                linecache.getline(code.co_filename, at).rstrip() for at in range(statement.lineno, find_last_line(statement) + 1)
            ]
            where = f"{code.co_filename}:{statement.lineno}"
            rows.append(
                {
                    "what": "in place",
                    "name": name,
                    "operator": symbol,
                    "where": where,
                    "first": statement.lineno,
                    "source": source,
                }
            )
    return rows if len(rows) <= MAX_CHANGES else []


def _functions(frames: list[FrameType]) -> list[tuple[Any, Any]]:
    """The program's own in the frames, by their names, and the forward methods of its models there."""
    found: dict[Any, tuple[Any, Any]] = {}
    for frame in frames:
        values = list(frame.f_locals.values()) if is_user_code(frame.f_code) else []
        for value in values:
            if type(value) is FunctionType and is_user_code(value.__code__):
                found.setdefault(value.__code__, (None, value))
            for module in _modules(value):
                method = type(module).__dict__.get("forward")
                if type(method) is FunctionType and not is_known(type(module)):
                    found.setdefault(method.__code__, (module, method))
    return list(found.values())[:MAX_FUNCTIONS]


def _modules(value: Any) -> Iterator[Any]:
    waiting, count = [value], 0
    while waiting and count < MAX_MODULES:
        count += 1
        module = waiting.pop()
        if any(kind.__module__ == "torch.nn.modules.module" and kind.__name__ == "Module" for kind in type(module).__mro__):
            yield module
            held = object.__getattribute__(module, "__dict__").get("_modules") or {}
            waiting += [each for each in held.values() if each is not None]


def _changes(node: Any) -> list[tuple[ast.stmt, str, str]]:
    """The statement, the name that it changes, and the operator of `x += y`, empty for `x.add_(y)` and `x[i] = y`."""
    found: list[tuple[ast.stmt, str, str]] = []
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.AugAssign):
            target: Any = each.target
            symbol = "" if isinstance(target, ast.Subscript) else _SYMBOLS.get(type(each.op).__name__, "")
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Subscript):
            target, symbol = each.targets[0], ""
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Call) and isinstance(each.value.func, ast.Attribute):
            method = each.value.func.attr
            if not method.endswith("_") or method.endswith("__"):
                continue
            target, symbol = each.value.func.value, ""
        else:
            continue
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            found.append((each, target.id, symbol))
    return found


_SYMBOLS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "Pow": "**"}


def _is_by(value: Any, name: str, owner: Any) -> bool:
    """Whether the expression ends with a call of this operation: `F.softmax(x)`, or a layer that is named so."""
    function = value.func if isinstance(value, ast.Call) else None
    called = getattr(function, "attr", "") or getattr(function, "id", "")
    is_layer = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "self"
    layers = getattr(owner, "__dict__", {}).get("_modules") or {}
    if is_layer and called in layers:
        called = type(layers[called]).__name__
    return bool(called) and called.lower().replace("_", "") == name.lower().replace("_", "")


# --- the groups of an optimizer ---


def _groups(message: str, frames: list[FrameType]) -> list[dict[str, Any]]:
    """How many parameters each group has, of the optimizer and of the state that was to be loaded."""
    if not _GROUPS.search(message):
        return []
    for frame in reversed(frames):
        optimizer, state = frame.f_locals.get("self"), frame.f_locals.get("state_dict")
        own = getattr(optimizer, "__dict__", {}).get("param_groups")
        saved = dict.get(state, "param_groups") if type(state) is dict else None
        if frame.f_code.co_name == "load_state_dict" and type(own) is list and type(saved) is list:
            counts = {"own": _count(own), "saved": _count(saved)}
            return [{"what": "groups", "name": type(optimizer).__name__, **counts}]
    return []


def _count(groups: list[Any]) -> list[int]:
    lists = [dict.get(group, "params") for group in groups[:MAX_GROUPS] if type(group) is dict]
    return [len(each) for each in lists if type(each) is list]


# --- a device that is not there ---


def _build(message: str, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """For which CUDA PyTorch was built, and where the program's own files write the device under the key of the failing line."""
    version = getattr(sys.modules.get("torch.version"), "__dict__", {})
    if not _DEVICE.search(message) or "__version__" not in version:
        return []
    cuda = version.get("cuda")
    row = {"what": "build", "name": "torch", "version": str(version["__version__"]), "cuda": cuda if type(cuda) is str else ""}
    line, at = "", traceback
    while at is not None:
        code = at.tb_frame.f_code
        line = linecache.getline(code.co_filename, at.tb_lineno) if is_user_code(code) else line
        at = at.tb_next
    key = _KEY_OF_DEVICE.search(line)
    place = returned_parts.find_key(key["key"], list_files(traceback)) if key is not None else None
    return [row, {"what": "device", "name": key["key"], "where": place}] if key is not None and place else [row]
