"""Changes of the user's own statements, as a diff of the line that changes.

Each is written from the parsed source, and only where it is sure which call is meant; else there is none.

    rename_call(stage, "batch", "padded_batch")                  dataset.batch(16)  ->  dataset.padded_batch(16)
    add_argument(loader, "DataLoader", "collate_fn=list")        DataLoader(rows)   ->  DataLoader(rows, collate_fn=list)
    replace_argument(layer, "Linear", 0, "1568")                 Linear(100, 10)    ->  Linear(1568, 10)
    rename_keyword(line, "Adam", "lr", "learning_rate")          Adam(lr=0.1)       ->  Adam(learning_rate=0.1)
    replace_expression(line, "np.float", "float")                np.zeros(3, np.float)  ->  np.zeros(3, float)
    replace_functions(line, ("np",), "torch", ("log",), ("p",))     np.log(p)         ->  torch.log(p)
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection
from typing import TypeGuard

from unstall.diagnosis.errors.failures import Maker
from unstall.diagnosis.verdict import LineChange


def find_call(maker: Maker, function: str) -> ast.Call | None:
    """The one call of this name in the statement."""
    try:
        tree = ast.parse(textwrap.dedent("\n".join(maker.source)))
    except SyntaxError:
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node) == function]
    return calls[0] if len(calls) == 1 else None


def rename_call(maker: Maker, before: str, after: str, when: str = "") -> LineChange | None:
    call = find_call(maker, before)
    if call is None or call.func.end_lineno is None or call.func.end_col_offset is None:
        return None
    end = call.func.end_col_offset
    return _changed(maker, call.func.end_lineno, end - len(before.encode()), end, after, when)


def add_argument(maker: Maker, function: str, argument: str, when: str = "") -> LineChange | None:
    """As the last one; None where the call has one of this name, or unpacks its arguments."""
    call = find_call(maker, function)
    name = argument.partition("=")[0]
    if (
        call is None
        or any(key.arg in (name, None) for key in call.keywords)
        or call.end_lineno is None
        or call.end_col_offset is None
    ):
        return None
    at = call.end_col_offset - 1
    before = _line(maker, call.end_lineno).encode()[: _offset(maker) + at].rstrip() if call.end_lineno else b""
    comma = "" if before.endswith((b"(", b",")) or not (call.args or call.keywords) else ", "
    comma = " " if before.endswith(b",") else comma
    return _changed(maker, call.end_lineno, at, at, f"{comma}{argument}", when)


def replace_argument(maker: Maker, function: str, argument: int | str, value: str, when: str = "") -> LineChange | None:
    """The argument at this place, or of this name, where it is written out in one line."""
    call = find_call(maker, function)
    node = _argument(call, argument) if call is not None else None
    if node is None or node.end_col_offset is None or node.end_lineno != node.lineno:
        return None
    return _changed(maker, node.lineno, node.col_offset, node.end_col_offset, value, when)


def replace_text(maker: Maker, before: str, after: str, when: str = "") -> LineChange | None:
    """Of the statement, where it holds the text exactly once."""
    holding = [at for at, line in enumerate(maker.source) if before in line]
    file = (maker.where or "").rpartition(":")[0]
    if len(holding) != 1 or maker.source[holding[0]].count(before) != 1 or not maker.first or not file:
        return None
    line = maker.source[holding[0]]
    return LineChange(f"{file}:{maker.first + holding[0]}", (line,), (line.replace(before, after),), when)


def rename_keyword(maker: Maker, function: str, before: str, after: str, when: str = "") -> LineChange | None:
    call = find_call(maker, function)
    key = next((key for key in call.keywords if key.arg == before), None) if call is not None else None
    if call is None or key is None or any(each.arg in (after, None) for each in call.keywords):
        return None
    first = key.col_offset
    return _changed(maker, key.lineno, first, first + len(before.encode()), after, when)


def replace_expression(maker: Maker, before: str, after: str, when: str = "") -> LineChange | None:
    """The one expression that is written so."""
    try:
        tree = ast.parse(textwrap.dedent("\n".join(maker.source)))
    except SyntaxError:
        return None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and ast.unparse(node) == before]
    if len(nodes) != 1 or nodes[0].end_lineno != nodes[0].lineno or nodes[0].end_col_offset is None:
        return None
    return _changed(maker, nodes[0].lineno, nodes[0].col_offset, nodes[0].end_col_offset, after, when)


def replace_functions(
    maker: Maker, owners: Collection[str], library: str, functions: Collection[str], names: Collection[str], when: str = ""
) -> LineChange | None:
    """The functions of one library by those of another, in each call that is given one of the names; None where a call of them
    has no counterpart, or where they stand on several lines."""
    try:
        tree = ast.parse(textwrap.dedent("\n".join(maker.source)))
    except SyntaxError:
        return None
    owned = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    calls = [call for call in owned if getattr(getattr(call.func, "value", None), "id", "") in owners]
    given = [call for call in calls if any(getattr(part, "id", "") in names for part in ast.walk(call))]
    lines = {call.lineno for call in given}
    if not given or len(lines) > 1 or any(_name(call) not in functions for call in given):
        return None
    file, number = (maker.where or "").rpartition(":")[0], lines.pop()
    before = plain = _line(maker, number)
    for call in sorted(given, key=lambda call: call.col_offset, reverse=True):
        owner = getattr(call.func, "value", call.func)
        first, last = _offset(maker) + owner.col_offset, _offset(maker) + (owner.end_col_offset or 0)
        plain = (plain.encode()[:first] + library.encode() + plain.encode()[last:]).decode()
    return LineChange(f"{file}:{maker.first + number - 1}", (before,), (plain,), when) if file and maker.first else None


def find_other_name(maker: Maker, name: str) -> str:
    """`state.params` of `best, best_params = loss, state.params` for `best_params`: another name for the same object. Empty where
    the assignment computes something."""
    try:
        statement = ast.parse(textwrap.dedent("\n".join(maker.source))).body[0]
    except (SyntaxError, IndexError):
        return ""
    targets, value = (
        list(getattr(statement, "targets", ())) or [getattr(statement, "target", None)],
        getattr(statement, "value", None),
    )
    pairs = [(target, value) for target in targets]
    for target, given in list(pairs):
        if isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple) and len(target.elts) == len(given.elts):
            pairs += zip(target.elts, given.elts, strict=True)
    for target, given in pairs:
        is_meant = isinstance(target, (ast.Name, ast.Attribute)) and ast.unparse(target) == name
        if is_meant and _is_path(given) and not isinstance(statement, ast.AugAssign):
            return ast.unparse(given)
    return ""


def _is_path(node: ast.AST | None) -> TypeGuard[ast.expr]:
    """Names, and attributes of them: what stands for an object that is there."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _argument(call: ast.Call, argument: int | str) -> ast.expr | None:
    if isinstance(argument, str):
        return next((key.value for key in call.keywords if key.arg == argument), None)
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    return call.args[argument] if argument < len(call.args) else None


def _name(call: ast.Call) -> str:
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def _changed(maker: Maker, number: int, first: int, last: int, text: str, when: str) -> LineChange | None:
    """`first` and `last` are offsets in the line without the indentation that all lines share."""
    before = _line(maker, number)
    file = (maker.where or "").rpartition(":")[0]
    plain, shift = before.encode(), _offset(maker)
    after = (plain[: shift + first] + text.encode() + plain[shift + last :]).decode()
    if not file or not maker.first or after == before:
        return None
    return LineChange(f"{file}:{maker.first + number - 1}", (before,), (after,), when)


def _line(maker: Maker, number: int) -> str:
    return maker.source[number - 1]


def _offset(maker: Maker) -> int:
    """The indentation that was taken away to parse the statement."""
    whole, plain = "\n".join(maker.source), textwrap.dedent("\n".join(maker.source))
    return (len(whole.partition("\n")[0]) - len(plain.partition("\n")[0])) if plain else 0
