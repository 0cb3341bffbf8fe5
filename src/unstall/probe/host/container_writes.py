"""Which line of the program's source adds to a container, and whether any line takes out of it or makes it anew.

Read from the source by its syntax: `x.append(…)`, `x[key] = …`, `x += …` against `x.clear()`, `x.pop()`, `del x[…]`, or a
new `x = []` inside a loop.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional, Union

from unstall.probe.host.containers import Place

ADD = frozenset({"append", "extend", "add", "insert", "update", "setdefault", "appendleft"})
SHED = frozenset({"clear", "pop", "popleft", "popitem", "remove", "discard"})
LARGEST_FILE_LINES = 20_000
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Loop = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True)
class Feeder:
    where: Optional[str]
    sheds: bool
    bounded: bool = False  # it is added to only while it is shorter than something


def feeder(place: Place) -> Feeder:
    if place.scope == "cache":
        return Feeder(f"{place.file}:{place.line}", False)
    tree = _parse(place.file)
    if tree is None:
        return Feeder(None, True)
    scope, name = _scope(tree, place), place.name.partition("[")[0]
    added = _lines_that_add(scope, name)
    return Feeder(f"{place.file}:{added[0]}" if added else None, _sheds(scope, name, place), _is_bounded(scope, name))


@lru_cache(maxsize=16)
def _parse(file: str) -> Optional[ast.Module]:
    lines = linecache.getlines(file)
    if not lines or len(lines) > LARGEST_FILE_LINES:
        return None
    try:
        return ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _scope(tree: ast.Module, place: Place) -> ast.AST:
    """The class of an attribute, the function of a local, the function around a closure, the whole module for the rest."""
    last = place.owner.rpartition(".")[2]
    outer = place.owner.partition(".<locals>")[0].rpartition(".")[2]
    for node in ast.walk(tree):
        if place.scope == "closure" and isinstance(node, _Function) and node.name == outer:
            return node
        if place.scope == "attribute" and isinstance(node, ast.ClassDef) and node.name == last:
            return node
        if place.scope == "local" and isinstance(node, _Function) and node.name == last and _begins(node) == place.line:
            return node
    return tree


def _begins(node: Union[ast.FunctionDef, ast.AsyncFunctionDef]) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _text(node: ast.AST) -> str:
    """`losses`, `self.history`; of `history["loss"]` what comes before the bracket."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_text(node.value)}.{node.attr}"
    return ""


def _added_to(node: ast.AST) -> Optional[str]:
    """What a node adds to, if it does."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ADD:
        return _text(node.func.value)
    if isinstance(node, ast.Assign):
        return next((_text(target) for target in node.targets if isinstance(target, ast.Subscript)), None)
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.BitOr)):
        return _text(node.target)
    return None


def _lines_that_add(scope: ast.AST, name: str) -> list[int]:
    return sorted(getattr(node, "lineno", 0) for node in ast.walk(scope) if _added_to(node) == name)


def _is_bounded(scope: ast.AST, name: str) -> bool:
    """`if len(memory) < capacity: memory.append(...)`, as buffers with a capacity are filled."""
    return any(
        _asks_length(node.test, name) and any(_added_to(inner) == name for inner in ast.walk(node))
        for node in ast.walk(scope)
        if isinstance(node, (ast.If, ast.While))
    )


def _asks_length(test: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and len(node.args) == 1
        and _text(node.args[0]) == name
        for node in ast.walk(test)
    )  # fmt: skip


def _sheds(scope: ast.AST, name: str, place: Place) -> bool:
    """Whether anything in the scope makes the container smaller, or makes a new one while the program runs on."""
    for node in ast.walk(scope):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in SHED and _text(called.value) == name:
            return True
        if isinstance(node, ast.Delete) and any(_text(target) == name for target in node.targets):
            return True
    return _is_recreated(scope, name, place)


def _is_recreated(scope: ast.AST, name: str, place: Place) -> bool:
    if place.scope == "attribute":
        methods = [node for node in ast.walk(scope) if isinstance(node, _Function) and node.name not in ("__init__", "__new__")]
        return any(_assigns(method, name) for method in methods)
    if place.scope == "local":
        return any(_assigns(loop, name) for loop in ast.walk(scope) if isinstance(loop, _Loop))
    return sum(_assigned(node, name) for node in ast.walk(scope)) > 1


def _assigns(scope: ast.AST, name: str) -> bool:
    return any(_assigned(node, name) for node in ast.walk(scope))


def _assigned(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign):
        return any(not isinstance(target, ast.Subscript) and _text(target) == name for target in node.targets)
    return isinstance(node, ast.AnnAssign) and node.value is not None and _text(node.target) == name
