"""The program's own lines that an error passed through: their source, what they used, and the element that was being handled.

Read when the error is there, and never before. A name is looked up where Python would look it up, an attribute in the object's
own dictionary: no code of the program's is called, and nothing is kept.
"""

from __future__ import annotations

import ast
import linecache
import time
from types import FrameType, TracebackType
from typing import Any, Optional

from unstall.probe.core.tracebacks import OWN
from unstall.probe.core.user_code import find_last_line, is_constant, is_user_code, parse_source, read_constant
from unstall.probe.errors import batch_elements, returned_parts
from unstall.probe.errors.values import describe_named, is_known

SECONDS = 1.0  # for all that is looked at
MAX_LINES = 12  # of the program's own in the traceback: the outermost third, and the innermost
MAX_VALUES = 12  # of one line
MAX_STATEMENT = 12  # lines of source
MAX_SOURCE_LETTERS = 2_000_000  # of a file that is parsed
MAX_ORIGINS = 8  # statements that led to the values of a line
MAX_CALLS = 6  # of libraries, below the program's innermost line
_LOOPS = (ast.For, ast.AsyncFor)
_HEADS = {"If": "test", "While": "test", "For": "iter", "AsyncFor": "iter", "With": "items", "AsyncWith": "items"}


class _Places:
    """Frames of a traceback, outermost first, with their lines."""

    def __init__(self, traceback: Optional[TracebackType]) -> None:
        self.all: list[tuple[FrameType, int, int]] = []
        while traceback is not None:
            if not traceback.tb_frame.f_code.co_filename.startswith(OWN):
                self.all.append((traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti))
            traceback = traceback.tb_next
        self.own = [each for each in self.all if is_user_code(each[0].f_code)]

    def below(self) -> list[tuple[FrameType, int, int]]:
        """Of libraries, below the program's innermost line."""
        result: list[tuple[FrameType, int, int]] = []
        for each in reversed(self.all):
            if is_user_code(each[0].f_code):
                break
            result.append(each)
        return result[::-1]


def inspect_lines(traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    """Outermost first."""
    own = _Places(traceback).own
    if len(own) > MAX_LINES:
        own = own[: MAX_LINES // 3] + own[-(MAX_LINES - MAX_LINES // 3) :]
    trees: dict[str, Optional[ast.Module]] = {}
    lines = [_inspect(*place, trees, until) for place in reversed(own)]  # the innermost first: it is what the time is for
    return lines[::-1]


def inspect_frame(frame: FrameType, until: float) -> dict[str, Any]:
    """A function of the program's own that stands still: a generator at its `yield`."""
    return _inspect(frame, frame.f_lineno, frame.f_lasti, {}, until)


def inspect_place(place: Any, line: int, until: float) -> dict[str, Any]:
    """What has the code and the names of a function as a frame has them, and stands at this line."""
    return _inspect(place, line, -1, {}, until)


def inspect_calls(traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    """The functions of libraries that the program's innermost line called, outermost first, with their arguments."""
    rows = []
    for frame, line, _ in _Places(traceback).below()[-MAX_CALLS:]:
        code = frame.f_code
        if time.monotonic() > until:
            break
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [
            {"name": name, **describe_named(name, frame.f_locals[name], until)}
            for name in names[:MAX_VALUES]
            if name in frame.f_locals
        ]
        rows.append({"file": code.co_filename, "line": line, "function": code.co_name, "values": values})
    return rows


def _inspect(frame: FrameType, line: int, lasti: int, trees: dict[str, Optional[ast.Module]], until: float) -> dict[str, Any]:
    code = frame.f_code
    facts: dict[str, Any] = {"file": code.co_filename, "line": line, "function": code.co_name}
    tree = parse_file(code.co_filename, frame, trees)
    function = find_function(tree, code.co_firstlineno, code.co_name) if tree is not None else None
    statement = find_statement(function or tree, line) if tree is not None else None
    if statement is None:
        return {**facts, "source": [linecache.getline(code.co_filename, line, frame.f_globals).rstrip()], "first": line}
    first, last = (
        statement.lineno,
        find_last_line(_head(statement)) if _head(statement) is not statement else find_last_line(statement),
    )
    facts["first"], facts["statement"] = first, type(statement).__name__
    numbers = range(first, min(last, first + MAX_STATEMENT - 1) + 1)
    facts["source"] = [linecache.getline(code.co_filename, number, frame.f_globals).rstrip() for number in numbers]
    failing = _exact(statement, code, lasti)
    names = _names_in(failing) if failing is not None else {}
    rest = _names_in(_head(statement))
    facts["values"] = _values(frame, {**names, **{name: node for name, node in rest.items() if name not in names}}, until)
    for value in facts["values"]:
        value["in_failing"] = failing is None or value["name"] in names or value.get("missing") in names
        made = _add_maker(value, frame, function or tree, statement)
        if made is None and value["name"] in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            value["is_argument"] = True
        source = batch_elements.find_source(value, made, function or tree, lambda node: read_value(node, frame), until)
        value.update({"from": source} if source else {})
    facts["origins"] = _origins(frame, function or tree, statement, facts["values"], until)
    facts["loops"] = _loops(frame, function or tree, statement, until)
    facts["arguments"] = _arguments(frame, {value["name"] for value in facts["values"]}, until)
    return facts


def _add_maker(value: dict[str, Any], frame: FrameType, tree: Optional[ast.AST], before: ast.stmt) -> Optional[ast.stmt]:
    """Adds the statement that gave a name its value."""
    made = find_assignment(tree, value["name"].partition(".")[0].partition("[")[0], before)
    if made is None or "." in value["name"]:
        return None
    last = find_last_line(_head(made)) if hasattr(made, "body") else find_last_line(made)
    file, ends = frame.f_code.co_filename, min(last, made.lineno + MAX_STATEMENT - 1)
    value["made_at"] = made.lineno
    value["made_by"] = [linecache.getline(file, number, frame.f_globals).rstrip() for number in range(made.lineno, ends + 1)]
    call, part = returned_parts.find_call_to(made, value["name"])
    if call is not None and _written(call.func) is not None:
        lines = returned_parts.find_part_lines(read_value(call.func, frame), part)
        value.update({"made_in": lines, "made_with": _written(call.func)} if lines else {})
    return made


def _origins(
    frame: FrameType, tree: Optional[ast.AST], statement: ast.stmt, values: list[dict[str, Any]], until: float
) -> list[dict[str, Any]]:
    """What the statements used that gave the values of a line, and those that gave these: the nearest first."""
    rows: list[dict[str, Any]] = []
    waiting = [made for made in (find_assignment(tree, value["name"], statement) for value in values) if made is not None]
    known = {value["name"] for value in values}
    while waiting and len(rows) < MAX_ORIGINS and time.monotonic() < until:
        maker = waiting.pop(0)
        for value in _values(frame, _names_in(_given_in(maker)), until):
            name = value["name"]
            if len(rows) >= MAX_ORIGINS or (name in known and find_assignment(tree, name, maker) is None):
                continue
            known.add(name)
            has_other = find_assignment(tree, name, maker) is not find_assignment(tree, name, statement)  # value by now
            row = {"name": name, "replaced": True, "now": dict(value)} if has_other else value
            made = _add_maker(row, frame, tree, maker)
            rows.append(row)
            if made is not None:
                waiting.append(made)
    return rows


def _given_in(maker: ast.stmt) -> Optional[ast.AST]:
    """What an assignment, or a `with`, computes."""
    return _head(maker) if hasattr(maker, "body") else getattr(maker, "value", None)


def parse_file(file: str, frame: FrameType, trees: dict[str, Optional[ast.Module]]) -> Optional[ast.Module]:
    if file not in trees:
        source = "".join(linecache.getlines(file, frame.f_globals))
        trees[file] = parse_source(source) if 0 < len(source) < MAX_SOURCE_LETTERS else None
    return trees[file]


def find_function(tree: ast.AST, first: int, name: str) -> Optional[ast.AST]:
    """The function whose code begins at this line; of a decorated one that is the decorator's."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            begins = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if begins <= first <= node.lineno:
                return node
    return _function_around(tree, first) if name.startswith("<") and name != "<module>" else None


def _function_around(tree: ast.AST, line: int) -> Optional[ast.AST]:
    """Of a lambda or a comprehension: the function in which it stands."""
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    around = [node for node in functions if node.lineno <= line <= find_last_line(node)]
    return max(around, key=lambda node: node.lineno) if around else None


def find_statement(tree: Optional[ast.AST], line: int) -> Optional[ast.stmt]:
    """The innermost statement that covers the line."""
    found: Optional[ast.stmt] = None
    for node in ast.walk(tree) if tree is not None else ():
        covers = isinstance(node, ast.stmt) and node.lineno <= line <= find_last_line(node)
        if covers and (found is None or (node.lineno, -find_last_line(node)) >= (found.lineno, -find_last_line(found))):  # type: ignore[attr-defined]
            found = node  # type: ignore[assignment]
    return found


def _head(statement: ast.stmt) -> ast.AST:
    """Of a statement with a body, the part before the body that is computed."""
    name = _HEADS.get(type(statement).__name__)
    if name is None:
        return statement
    part = getattr(statement, name)
    head: ast.AST = part[0].context_expr if isinstance(part, list) else part
    return head


def _exact(statement: ast.stmt, code: Any, lasti: int) -> Any:
    """The expression that was being computed: known since Python 3.11."""
    positions = getattr(code, "co_positions", None)
    if positions is None or lasti < 0:
        return None
    wanted = next((each for at, each in enumerate(positions()) if at == lasti // 2), None)
    if wanted is None or None in wanted:
        return None
    line, end, column, end_column = wanted
    for node in ast.walk(statement):
        at = (getattr(node, "lineno", 0), getattr(node, "end_lineno", 0), getattr(node, "col_offset", -1))
        if isinstance(node, ast.expr) and at == (line, end, column) and node.end_col_offset == end_column:
            return node
    return None


def _names_in(node: Optional[ast.AST]) -> dict[str, ast.AST]:
    """What is read there: names, attributes and constant keys, as they are written; the longest form of each."""
    found: dict[str, ast.AST] = {}
    inner: set[int] = set()
    for each in ast.walk(node) if node is not None else ():
        if id(each) in inner:
            inner.update(id(part) for part in ast.iter_child_nodes(each))
            continue
        written = _written(each)
        if written is None or not isinstance(getattr(each, "ctx", ast.Load()), ast.Load):
            continue
        found.setdefault(written, each)
        if isinstance(each, (ast.Attribute, ast.Subscript)):
            inner.add(id(each.value))
            inner.update(id(part) for part in ast.iter_child_nodes(each.value))
    return found


def _written(node: Any) -> Optional[str]:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _written(node.value)
        return f"{owner}.{node.attr}" if owner is not None else None
    if isinstance(node, ast.Subscript):
        owner, key = _written(node.value), _key(node)
        return f"{owner}[{key!r}]" if owner is not None and key is not None else None
    return None


def _key(node: Any) -> Any:
    """A constant key; before Python 3.9 it is wrapped in a node of its own."""
    key = getattr(node.slice, "value", None) if type(node.slice).__name__ == "Index" else node.slice
    value = read_constant(key) if is_constant(key) else None
    return value if type(value) in (str, int) else None


_MISSING = object()


def _values(frame: FrameType, names: dict[str, ast.AST], until: float) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name, node in names.items():
        if len(rows) >= MAX_VALUES or time.monotonic() > until:
            break
        found, value = _nearest(name, node, frame)
        if value is _MISSING or _is_code(value) or any(row["name"] == found for row in rows):
            continue
        missing = {"missing": name} if found != name else {}
        rows.append({"name": found, **missing, **describe_named(found, value, until)})
    return rows


def _nearest(name: str, node: Any, frame: FrameType) -> tuple[str, Any]:
    """The value; where the object has no such attribute or key, the object itself."""
    value = read_value(node, frame)
    while value is _MISSING and isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
        name, value = _written(node) or name, read_value(node, frame)
    return name, value


def _is_code(value: Any) -> bool:
    """Modules, classes and functions: they are what is called, and no values."""
    return issubclass(type(value), type) or type(value).__name__ in (
        "module",
        "function",
        "builtin_function_or_method",
        "method",
        "ufunc",
        "_ArrayFunctionDispatcher",
        "PjitFunction",
    )


def read_value(node: Any, frame: FrameType) -> Any:
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id, _MISSING))
    owner = read_value(node.value, frame)
    if isinstance(node, ast.Attribute):
        return attribute(owner, node.attr)
    if isinstance(node, ast.Subscript):
        key = _key(node)
        if issubclass(type(owner), dict):
            return dict.get(owner, key, _MISSING)
        if issubclass(type(owner), (list, tuple)) and type(key) is int:
            kind: Any = list if issubclass(type(owner), list) else tuple
            return kind.__getitem__(owner, key) if -kind.__len__(owner) <= key < kind.__len__(owner) else _MISSING
    return _MISSING


def attribute(owner: Any, name: str) -> Any:
    """As it lies in the object; of a module of PyTorch, also a layer, a parameter or a buffer of that name."""
    if owner is _MISSING or issubclass(type(owner), type):
        return _MISSING
    try:
        held = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return _MISSING
    if type(held) is not dict:
        return _MISSING
    if name in held:
        return held[name]
    for table in ("_modules", "_parameters", "_buffers"):
        inner = held.get(table)
        if type(inner) is dict and name in inner and any(is_known(kind) for kind in type(owner).__mro__):
            return inner[name]
    return _MISSING


def find_assignment(tree: Optional[ast.AST], name: str, before: ast.stmt) -> Optional[ast.stmt]:
    """The last statement above that gave a value to the name, in the same function."""
    found: Optional[ast.stmt] = None
    for node in _own_statements(tree):
        targets: list[Any] = list(getattr(node, "targets", ())) or [getattr(node, "target", None)]
        if isinstance(node, (ast.With, ast.AsyncWith)):  # `with open(path) as file`
            targets = [item.optional_vars for item in node.items]
        elif type(node).__name__ not in ("Assign", "AugAssign", "AnnAssign"):
            continue
        if node.lineno >= before.lineno:
            continue
        names = {part.id for target in targets if target is not None for part in ast.walk(target) if isinstance(part, ast.Name)}
        if name in names and (found is None or node.lineno > found.lineno):
            found = node
    return found


def _own_statements(tree: Optional[ast.AST]) -> list[ast.stmt]:
    """Of a function or a module, without those of the functions inside it."""
    result: list[ast.stmt] = []
    waiting = list(ast.iter_child_nodes(tree)) if tree is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(node, ast.stmt):
            result.append(node)
        waiting.extend(ast.iter_child_nodes(node))
    return result


def _loops(frame: FrameType, tree: Optional[ast.AST], statement: ast.stmt, until: float) -> list[dict[str, Any]]:
    """The loops around the statement, the innermost last: what stands in their variables is the element that is handled."""
    rows = []
    for node in _own_statements(tree):
        in_body = any(each.lineno <= statement.lineno <= find_last_line(each) for each in getattr(node, "body", []))
        if not isinstance(node, _LOOPS) or not in_body or node is statement:
            continue
        over = linecache.getline(frame.f_code.co_filename, node.lineno, frame.f_globals).strip()
        names = {part.id: part for part in ast.walk(node.target) if isinstance(part, ast.Name)}
        given = _values(frame, _names_in(node.iter), until)
        for value in given:
            _add_maker(value, frame, tree, node)
        rows.append({"line": node.lineno, "source": over, "values": _values(frame, dict(names), until), "over": given})
    return sorted(rows, key=lambda row: row["line"])


def _arguments(frame: FrameType, listed: set[str], until: float) -> list[dict[str, Any]]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    rows = []
    for name in names[:MAX_VALUES]:
        if name in listed or name in ("self", "cls") or name not in frame.f_locals or time.monotonic() > until:
            continue
        rows.append({"name": name, **describe_named(name, frame.f_locals[name], until)})
    return rows
