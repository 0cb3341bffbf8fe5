"""Where a gradient is lost, read from the source: for steps that leave no graph behind.

A reading, not a proof: it names the first call in the block, or in the functions that the block calls, which is known to
have no gradient.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Optional

from unstall.probe.core.tracebacks import OWN
from unstall.probe.core.user_code import _INSTALLED, _STDLIB, find_last_line, parse_source

DEEPEST = 3  # calls followed from the block
LARGEST_FILE = 2_000_000

_METHODS = {"numpy": "numpy()", "detach": "detach()", "item": "item()", "tolist": "tolist()"}
_FUNCTIONS = frozenset({
    "argmax", "argmin", "round", "rint", "floor", "ceil", "sign", "stop_gradient", "numpy_function", "py_function", "one_hot",
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "no_grad", "top_k", "argsort", "threshold",
})  # fmt: skip
_NUMPY = frozenset({"np", "numpy", "onp"})
if TYPE_CHECKING:  # Python 3.8 cannot make these when it runs
    Functions = dict[str, ast.AST]


def is_user_file(file: str) -> bool:
    return not (any(part in file for part in _INSTALLED) or file.startswith(("<", OWN, _STDLIB)))


def find_cut_in_tape_block(frame: FrameType) -> tuple[Optional[str], str]:
    """(file:line, what) of what cuts the gradient between the tape's block and the call of `tape.gradient` in this frame."""
    tree = _parsed(frame.f_code.co_filename)
    function = _enclosing(tree, frame.f_code) if tree is not None else None
    if tree is None or function is None:
        return None, ""
    blocks = [
        node for node in ast.walk(function) if isinstance(node, ast.With) and _is_tape(node) and node.lineno <= frame.f_lineno
    ]
    if not blocks:
        return None, ""
    block = max(blocks, key=lambda node: node.lineno)
    file = frame.f_code.co_filename
    outside = _target_computed_outside(function, block, frame.f_lineno)
    if outside is not None:
        return f"{file}:{outside}", "computed outside the tape"
    found = _first_cut(block.body, _functions(tree), DEEPEST, set())
    return (None, "") if found is None else (f"{file}:{found[0]}", found[1])


def find_cut_in_function(function: Any) -> tuple[Optional[str], str]:
    """The same for a whole function, such as a loss of one's own."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not is_user_file(code.co_filename):
        return None, ""
    tree = _parsed(code.co_filename)
    node = _enclosing(tree, code) if tree is not None else None
    if tree is None or node is None:
        return None, ""
    found = _first_cut(_body(node), _functions(tree), DEEPEST, set())
    return (None, "") if found is None else (f"{code.co_filename}:{found[0]}", found[1])


def find_place(function: Any) -> Optional[str]:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None and is_user_file(code.co_filename) else None


def find_cut_between(file: str, first: int, last: int) -> tuple[Optional[str], str]:
    """The same for the lines of a file."""
    tree = _parsed(file)
    if tree is None:
        return None, ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and first <= node.lineno <= last:
            what = _cuts(node)
            if what:
                return f"{file}:{node.lineno}", what
    return None, ""


def _parsed(file: str) -> Optional[ast.Module]:
    source = "".join(linecache.getlines(file))
    if not source or len(source) > LARGEST_FILE:
        return None
    return parse_source(source)


def _enclosing(tree: Optional[ast.Module], code: CodeType) -> Optional[ast.AST]:
    if tree is None or code.co_name == "<module>":
        return tree
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= code.co_firstlineno <= node.lineno:
                return node
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            return node
    return None


def _is_tape(node: ast.With) -> bool:
    return any("GradientTape" in ast.dump(item.context_expr) for item in node.items)


def _functions(tree: ast.AST) -> Functions:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def _target_computed_outside(function: ast.AST, block: ast.With, line: int) -> Optional[int]:
    """The line that gives the target its value after the block, if the block does not."""
    asked = [
        node.args[0]
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "gradient"
        and node.lineno <= line <= find_last_line(node)
        and node.args
    ]
    target = next((argument.id for argument in asked if isinstance(argument, ast.Name)), None)
    if target is None:
        return None
    end = find_last_line(block)
    lines = [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == target and isinstance(node.ctx, ast.Store)
    ]
    if any(block.lineno <= number <= end for number in lines):
        return None
    return next((number for number in sorted(lines) if end < number <= line), None)


def _first_cut(body: list[Any], functions: Functions, depth: int, seen: set[str]) -> Optional[tuple[int, str]]:
    for node in _calls(body):
        what = _cuts(node)
        if what:
            return node.lineno, what
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr if isinstance(node.func, ast.Attribute) else ""
        called = functions.get(name)
        if called is not None and depth > 0 and name not in seen:
            found = _first_cut(_body(called), functions, depth - 1, seen | {name})
            if found is not None:
                return found
    return None


def _body(function: ast.AST) -> list[Any]:
    """Of a lambda it is one expression."""
    body = getattr(function, "body", [])
    return list(body) if isinstance(body, list) else [body]


def _calls(body: list[Any]) -> list[ast.Call]:
    nodes = [body] if isinstance(body, ast.AST) else body
    calls = [node for part in nodes for node in ast.walk(part) if isinstance(node, ast.Call)]
    return sorted(calls, key=lambda node: (node.lineno, node.col_offset))


def _cuts(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Attribute):
        if function.attr in _METHODS and not node.args:
            return _METHODS[function.attr]
        if isinstance(function.value, ast.Name) and function.value.id in _NUMPY:
            return f"{function.value.id}.{function.attr}"
        return function.attr if function.attr in _FUNCTIONS else ""
    return function.id if isinstance(function, ast.Name) and function.id in _FUNCTIONS else ""
