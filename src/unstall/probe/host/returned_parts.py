"""Which lines of a function of the program's make what it returns, part by part. Its source is read; nothing is called.

Of `return np.array(inputs), labels` the first part is made where `inputs` is appended to, the second where `labels` is assigned.
"""

from __future__ import annotations

import ast
import linecache
from types import FunctionType, MethodType
from typing import Any, Optional

from unstall.probe.core.user_code import find_last_line, is_user_code, parse_source

MAX_LINES = 4  # of one part
MAX_PARTS = 6
_GROW = ("append", "extend", "add", "insert", "update")


def find_part_lines(function: Any, part: Optional[int]) -> list[dict[str, Any]]:
    """In the order of the file. `part`: which one of a tuple; None: all that is returned."""
    code, node = _definition(function)
    if node is None:
        return []
    value = _returned(node)
    if part is not None and isinstance(value, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in value.elts):
        value = value.elts[part] if part < len(value.elts) else None
    numbers = _numbers(node, value)
    return [_row(code.co_filename, number) for number in sorted(numbers)[:MAX_LINES]]


def find_growth_lines(code: Any, name: str) -> list[dict[str, Any]]:
    """Where a running function adds something to a list of its own."""
    node = _node_of(code)
    return [_row(code.co_filename, number) for number in sorted(_growth(node, name))] if node is not None else []


def find_attribute_line(function: Any, name: str) -> Optional[str]:
    """The first line of a method of the program's own that gives an attribute of this name a value."""
    code, node = _definition(function)
    for each in ast.walk(node) if node is not None else ():
        if not isinstance(each, (ast.Assign, ast.AnnAssign)):
            continue
        targets = each.targets if isinstance(each, ast.Assign) else [each.target]
        if any(isinstance(target, ast.Attribute) and target.attr == name for target in targets):
            return f"{code.co_filename}:{each.lineno}"
    return None


def find_call_to(statement: Any, name: str) -> tuple[Any, Optional[int]]:
    """The call whose result an assignment gives to the name, and which part of that result."""
    value, targets = getattr(statement, "value", None), getattr(statement, "targets", [])
    part: Optional[int] = None
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple):
        names = [getattr(each, "id", "") for each in targets[0].elts]
        if name not in names or any(isinstance(each, ast.Starred) for each in targets[0].elts):
            return None, None
        part = names.index(name)
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            value, part = value.elts[part], None
    return (value, part) if isinstance(value, ast.Call) else (None, None)


def list_parts(function: Any) -> list[list[dict[str, Any]]]:
    """For each part of what it returns."""
    value = _returned(_definition(function)[1])
    if isinstance(value, ast.Tuple):
        return [find_part_lines(function, at) for at in range(min(len(value.elts), MAX_PARTS))]
    return [find_part_lines(function, None)] if value is not None else []


def _row(file: str, number: int) -> dict[str, Any]:
    return {"where": f"{file}:{number}", "source": linecache.getline(file, number).strip()}


def _definition(function: Any) -> tuple[Any, Any]:
    """The function below its decorators, as far as they say which one that is."""
    function = function.__func__ if type(function) is MethodType else function
    for _ in range(5):
        inner = getattr(function, "__dict__", {}).get("__wrapped__") if type(function) is FunctionType else None
        if inner is None:
            break
        function = inner
    if type(function) is not FunctionType or not is_user_code(function.__code__):
        return None, None
    return function.__code__, _node_of(function.__code__)


def _node_of(code: Any) -> Any:
    tree = parse_source("".join(linecache.getlines(code.co_filename)))
    if tree is None:
        return None
    if code.co_name == "<module>":
        return tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first <= code.co_firstlineno <= node.lineno:
                return node
    return None


def _statements(node: Any) -> list[Any]:
    """Of a function, without those of the functions inside it."""
    found, waiting = [], list(ast.iter_child_nodes(node))
    while waiting:
        each = waiting.pop()
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        found.append(each)
        waiting.extend(ast.iter_child_nodes(each))
    return found


def _returned(node: Any) -> Any:
    """What it returns or yields, where one place of it does."""
    given = [each for each in _statements(node) if isinstance(each, (ast.Return, ast.Yield))] if node is not None else []
    values = [each.value for each in given if each.value is not None]
    return values[0] if len(values) == 1 else None


def _numbers(node: Any, value: Any) -> set[int]:
    """Of a name: where it was assigned, or grew. Of anything else also the line itself."""
    if value is None:
        return set()
    names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
    numbers = set() if isinstance(value, ast.Name) else {value.lineno}
    for name in names:
        grown = _growth(node, name)
        made = _assigned(node, name, value.lineno)
        if grown:
            numbers.update(grown)
        elif isinstance(value, ast.Name) and made is not None:
            numbers.add(made)
    return numbers


def _growth(node: Any, name: str) -> set[int]:
    """Where something is added to it, with the loop around that."""
    calls = [
        each.lineno
        for each in _statements(node)
        if isinstance(each, ast.Call)
        and isinstance(each.func, ast.Attribute)
        and each.func.attr in _GROW
        and isinstance(each.func.value, ast.Name)
        and each.func.value.id == name
    ]
    loops = [each for each in _statements(node) if isinstance(each, (ast.For, ast.While))]
    around = {
        max(inside)
        for call in calls
        for inside in [[loop.lineno for loop in loops if loop.lineno < call <= find_last_line(loop)]]
        if inside
    }
    return around | set(calls)


def _assigned(node: Any, name: str, before: int) -> Optional[int]:
    """The line of the last statement above that gave a value to the name."""
    numbers = [
        each.lineno
        for each in _statements(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id == name and each.lineno <= before
    ]
    return max(numbers) if numbers else None
