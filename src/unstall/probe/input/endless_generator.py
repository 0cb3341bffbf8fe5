"""Whether a generator of the program's own never ends, as its source shows: `while True:` with no way out.

Read by its syntax, and only said where it is certain. A `break`, a `return`, or a loop over something that ends leaves it open.
"""

from __future__ import annotations

import ast
import linecache
from types import CodeType
from typing import Optional

from unstall.probe.core.user_code import parse_source, read_constant

LARGEST_FILE_LINES = 20_000
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_FOR_EVER = frozenset({"cycle", "count"})  # of itertools


def is_endless(code: CodeType) -> bool:
    """Whether the generator with this code goes on for ever, whatever it is given."""
    function = _find(code)
    return function is not None and any(_is_trap(statement) for statement in function.body)


def _find(code: CodeType) -> Optional[ast.FunctionDef]:
    lines = linecache.getlines(code.co_filename)
    if not lines or len(lines) > LARGEST_FILE_LINES:
        return None
    tree = parse_source("".join(lines))
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _begins(node) == code.co_firstlineno:
            return node
    return None


def _begins(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _is_trap(statement: ast.stmt) -> bool:
    """A loop at the top of the function that yields, and that nothing leaves."""
    if isinstance(statement, ast.With):
        return any(_is_trap(inner) for inner in statement.body)
    endless = (isinstance(statement, ast.While) and _is_true(statement.test)) or (
        isinstance(statement, ast.For) and _called(statement.iter) in _FOR_EVER
    )
    return endless and _yields(statement) and not _leaves(statement, in_own_loop=True)


def _is_true(test: ast.expr) -> bool:
    return bool(read_constant(test))


def _called(expression: ast.expr) -> str:
    if not isinstance(expression, ast.Call):
        return ""
    function = expression.func
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


def _yields(node: ast.AST) -> bool:
    inner = [child for child in ast.iter_child_nodes(node) if not isinstance(child, _FUNCTIONS)]
    return any(isinstance(child, (ast.Yield, ast.YieldFrom)) or _yields(child) for child in inner)


def _leaves(node: ast.AST, in_own_loop: bool) -> bool:
    """Whether anything in a loop may end it: a return or raise, or a break that belongs to this loop."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            continue
        if isinstance(child, (ast.Return, ast.Raise)) or (isinstance(child, ast.Break) and in_own_loop):
            return True
        if _leaves(child, in_own_loop and not isinstance(child, (ast.For, ast.AsyncFor, ast.While))):
            return True
    return False
