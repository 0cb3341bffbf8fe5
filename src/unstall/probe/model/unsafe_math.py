"""Lines of the user's own that can make a number which is not finite: a logarithm, a root or a division without a floor.

A reading of the source, not a proof: it is used only to say where to look, once a loss is not finite.
"""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, Any, Optional

from unstall.probe.core.user_code import find_last_line, is_constant, read_constant
from unstall.probe.model import gradient_cuts

DEEPEST = 2
MAX = 6
_OPERATIONS = {
    "log": "a logarithm", "log2": "a logarithm", "log10": "a logarithm", "sqrt": "a square root", "rsqrt": "a square root",
    "divide": "a division", "true_divide": "a division", "reciprocal": "a division",
    "norm": "a length (its slope at 0 is not finite)",
    "acos": "an arc cosine", "arccos": "an arc cosine", "asin": "an arc sine", "arcsin": "an arc sine", "exp": "an exponential",
    "expm1": "an exponential", "pow": "a power", "power": "a power", "atanh": "an inverse hyperbolic tangent",
}  # fmt: skip
_RANK = {"a logarithm": 0, "a square root": 0, "a length (its slope at 0 is not finite)": 0, "a division": 1}
_GUARDS = frozenset({
    "maximum", "clip", "clip_by_value", "clamp", "epsilon", "softplus", "relu", "where", "max", "divide_no_nan", "sigmoid",
    "stop_gradient", "nan_to_num", "abs", "log1p",
})  # fmt: skip
if TYPE_CHECKING:  # Python 3.8 cannot make these when it runs
    Place = dict[str, Any]


def find_in_function(function: Any) -> list[Place]:
    """Places in a function and in those that it calls, the likeliest first: where, what."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not gradient_cuts.is_user_file(code.co_filename):
        return []
    return _in_code(code.co_filename, code)


def find_around(place: Optional[str]) -> list[Place]:
    """The same for the innermost function around a line, or the whole file: one's own loop."""
    file, _, line = (place or "").rpartition(":")
    tree = gradient_cuts._parsed(file) if line.isdigit() and gradient_cuts.is_user_file(file) else None
    if tree is None:
        return []
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    container = [node for node in functions if node.lineno <= int(line) <= find_last_line(node)]
    node = max(container, key=lambda function: function.lineno) if container else tree
    return _in_node(file, tree, node)


def _in_code(file: str, code: Any) -> list[Place]:
    tree = gradient_cuts._parsed(file)
    node = gradient_cuts._enclosing(tree, code) if tree is not None else None
    return [] if tree is None or node is None else _in_node(file, tree, node)


def _in_node(file: str, tree: ast.AST, node: ast.AST) -> list[Place]:
    functions = gradient_cuts._functions(tree)
    found: dict[int, str] = {}
    _look(node, functions, DEEPEST, set(), found)
    ordered = sorted(found.items(), key=lambda item: (_RANK.get(item[1], 2), item[0]))
    return [{"where": f"{file}:{line}", "what": what} for line, what in ordered[:MAX]]


def _look(node: Any, functions: gradient_cuts.Functions, depth: int, seen: set[str], found: dict[int, str]) -> None:
    body = list(getattr(node, "body", [])) if not isinstance(node, ast.Lambda) else [node.body]
    fixed = _fixed_names(body)
    for part in body:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue  # looked at where it is called
        for inner in ast.walk(part):
            what = _what(inner, fixed)
            if what:
                found.setdefault(inner.lineno, what)  # type: ignore[attr-defined]
            name = _called(inner)
            if name in functions and depth > 0 and name not in seen:
                _look(functions[name], functions, depth - 1, seen | {name}, found)


def _fixed_names(body: list[Any]) -> set[str]:
    """Names that are given a constant and nothing else: `count = tf.constant(count)`."""
    nodes = [inner for part in body for inner in ast.walk(part)]
    constants = {
        id(target)
        for inner in nodes
        if isinstance(inner, ast.Assign) and _is_constant(inner.value, set())
        for target in inner.targets
    }
    bound = [inner for inner in nodes if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)]
    return {name.id for name in bound} - {name.id for name in bound if id(name) not in constants}


def _what(node: ast.AST, fixed: set[str]) -> str:
    """What could go wrong here; empty where nothing could, or where a floor is seen."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return "" if _is_guarded(node.right) or _is_constant(node.right, fixed) else "a division"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        power = read_constant(node.right)
        return "a power" if isinstance(power, float) and power != int(power) and not _is_guarded(node.left) else ""
    name = _called(node)
    if name not in _OPERATIONS or not isinstance(node, ast.Call):
        return ""
    risk = node.args[-1] if _OPERATIONS[name] == "a division" and node.args else node.args[0] if node.args else None
    is_safe = risk is None or _is_guarded(risk) or (_OPERATIONS[name] == "a division" and _is_constant(risk, fixed))
    return "" if is_safe else _OPERATIONS[name]


def _is_constant(node: ast.AST, fixed: set[str]) -> bool:
    if is_constant(node):
        return bool(read_constant(node))
    if isinstance(node, ast.Name):
        return node.id.isupper() or node.id in fixed
    return isinstance(node, ast.Call) and _called(node) in ("len", "float32", "float", "constant")


def _is_guarded(node: ast.AST) -> bool:
    """Something small is added, or a floor is put under it."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and _called(inner) in _GUARDS:
            return True
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add) and (_is_small(inner.left) or _is_small(inner.right)):
            return True
    return False


def _is_small(node: ast.AST) -> bool:
    value = read_constant(node)
    if is_constant(node):
        return isinstance(value, (int, float)) and value > 0
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    called = _called(node)
    return "eps" in name.lower() or "small" in name.lower() or "eps" in called.lower()


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function: Optional[ast.AST] = node.func
    return function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
