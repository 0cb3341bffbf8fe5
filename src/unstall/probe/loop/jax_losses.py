"""The loss among what a jitted training step gives back: a scalar that the next step does not take.

Parameters and the state of an optimizer may hold scalars, too: a step is given those again. Of several that are left, one that is
called a loss comes first: by its key, or by the name that the function's `return` has for it.
"""

from __future__ import annotations

import ast
import linecache
import sys
from typing import Any, Optional

from unstall.probe.core.user_code import parse_source, read_constant
from unstall.probe.loop.losses import is_float_scalar
from unstall.probe.loop.traces import get_python_function

MAX_PARTS = 2000  # of a result that are gone through
MAX_SOURCE_LINES = 20_000
OTHERS = ("acc", "norm", "rate", "scale", "count")  # in the names of scalars that are no losses


class LossOutput:
    def __init__(self, function: Any) -> None:
        self._names = _ReturnedNames(function)
        self._scalars: Optional[list[tuple[tuple[Any, ...], Any]]] = None  # of the call before, while the loss is not known
        self._way: Optional[tuple[Any, ...]] = None
        self._is_known = False

    def of(self, args: Any, kwargs: Any, result: Any) -> Any:
        """None while it is not known, or where there is none."""
        if not self._is_known:
            self._look(args, kwargs, result)
        if self._way is None:
            return None
        try:
            for key in self._way:
                result = result[key]
        except (KeyError, IndexError, TypeError):
            self._scalars, self._is_known = None, False  # it gives back something else this time
            return None
        return result if is_float_scalar(result) else None

    def _look(self, args: Any, kwargs: Any, result: Any) -> None:
        before, self._scalars = self._scalars, _scalars(result, _state(args, kwargs, result))
        self._way = None
        if before is None:
            return
        tree = sys.modules["jax"].tree_util
        taken = {id(leaf) for leaf in tree.tree_leaves((args, kwargs))}
        ways = [way for way, value in before if id(value) not in taken]
        there = {way for way, _ in self._scalars}
        ranked = [(rank, way) for way in ways for rank in [self._rank(way)] if way in there and rank is not None]
        self._way = min(ranked, key=lambda pair: pair[0])[1] if ranked else None
        self._is_known, self._scalars = True, None

    def _rank(self, way: tuple[Any, ...]) -> Optional[tuple[bool, bool]]:
        """None of what is called something else."""
        words = " ".join([*(str(key) for key in way), self._names.of(way)]).lower()
        if "loss" not in words and any(other in words for other in OTHERS):
            return None
        return "loss" not in words, "total" not in words


def _state(args: Any, kwargs: Any, result: Any) -> set[Any]:
    """Keys of those parts of the result that are made as an argument is: parameters, gradients, the state of an optimizer."""
    tree = sys.modules["jax"].tree_util
    given = {tree.tree_structure(value) for value in (*args, *kwargs.values())}
    keys = range(len(result)) if isinstance(result, (list, tuple)) else list(result) if isinstance(result, dict) else ()
    structures = {key: tree.tree_structure(result[key]) for key in keys}
    return {key for key, structure in structures.items() if structure.num_leaves > 1 and structure in given}


def _scalars(result: Any, state: set[Any]) -> list[tuple[tuple[Any, ...], Any]]:
    """The ways to them through dicts, lists and tuples, in order."""
    found: list[tuple[tuple[Any, ...], Any]] = []
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), result)]
    for _ in range(MAX_PARTS):
        if not waiting:
            break
        way, value = waiting.pop()
        if isinstance(value, dict):
            parts = list(value.items())
        elif isinstance(value, (list, tuple)):
            parts = list(enumerate(value))
        else:
            if is_float_scalar(value):
                found.append((way, value))
            continue
        waiting += [((*way, key), part) for key, part in reversed(parts) if way or key not in state]
    return found


class _ReturnedNames:
    """What the function itself calls the parts of its result."""

    def __init__(self, function: Any) -> None:
        self._code = getattr(get_python_function(function), "__code__", None)
        self._returned: Optional[list[ast.expr]] = None

    def of(self, way: tuple[Any, ...]) -> str:
        if self._returned is None:
            self._returned = self._read()
        return " ".join(_name_at(node, way) for node in self._returned)

    def _read(self) -> list[ast.expr]:
        """What each `return` of it returns; nothing where the source cannot be read."""
        code = self._code
        lines = linecache.getlines(code.co_filename) if code is not None else []
        if code is None or not 0 < len(lines) <= MAX_SOURCE_LINES:
            return []
        tree = parse_source("".join(lines))
        if tree is None:
            return []
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                if first <= code.co_firstlineno <= node.lineno:
                    return _returns(node.body)
        return []


def _returns(body: list[ast.stmt]) -> list[ast.expr]:
    """Those of the function itself, not of functions within it."""
    found: list[ast.expr] = []
    waiting: list[Any] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return found


def _name_at(node: ast.expr, way: tuple[Any, ...]) -> str:
    for key in way:
        if isinstance(node, (ast.Tuple, ast.List)) and isinstance(key, int) and key < len(node.elts):
            node = node.elts[key]
        elif isinstance(node, ast.Dict):
            node = next((value for name, value in zip(node.keys, node.values) if read_constant(name) == key), node)  # noqa: B905
        else:
            break
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
