"""Which lines of a function of the program's make what it returns, part by part. Its source is read; nothing is called.

Of `return np.array(inputs), labels` the first part is made where `inputs` is appended to, the second where `labels` is assigned.
"""

from __future__ import annotations

import ast
import linecache
from types import FunctionType, MethodType
from typing import Any, Optional

from unstall.probe.core.user_code import find_last_line, is_constant, is_user_code, parse_source, read_constant

MAX_LINES = 4  # of one part
MAX_PARTS = 6
_GROW = ("append", "extend", "add", "insert", "update")


def find_part_lines(function: Any, part: Optional[int]) -> list[dict[str, Any]]:
    """In the order of the file. `part`: which one of a tuple; None: all that is returned."""
    code, node = find_definition(function)
    if node is None:
        return []
    value = find_returned(node)
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
    code, node = find_definition(function)
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
    value = find_returned(find_definition(function)[1])
    if isinstance(value, ast.Tuple):
        return [find_part_lines(function, at) for at in range(min(len(value.elts), MAX_PARTS))]
    return [find_part_lines(function, None)] if value is not None else []


def list_indexed(method: Any) -> list[str]:
    """The attributes that a method reads at the index it is given: `items` of `self.items[i]`."""
    node = find_definition(method)[1]
    arguments = [each.arg for each in node.args.args] if node is not None else []
    names: dict[str, None] = {}
    for each in _statements(node) if len(arguments) > 1 else []:
        key = _key_of(each)
        owner = each.value if isinstance(each, ast.Subscript) else None
        is_own = isinstance(owner, ast.Attribute) and getattr(owner.value, "id", "") == arguments[0]
        if is_own and getattr(key, "id", "") == arguments[1]:
            names.setdefault(owner.attr)  # type: ignore[union-attr]
    return list(names)


def find_key_of_element(method: Any, part: int) -> tuple[str, str]:
    """The attribute and the key of a part that is `self.items[i]["key"]`, or `item["key"]` where `item = self.items[i]`."""
    node = find_definition(method)[1]
    value = find_returned(node)
    if isinstance(value, ast.Tuple):
        value = value.elts[part] if part < len(value.elts) else None
    while isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:  # int(…), torch.tensor(…)
        value = value.args[0]
    key = _key_of(value)
    if value is None or not is_constant(key) or type(read_constant(key)) is not str:
        return "", ""
    owner: Any = value.value
    if isinstance(owner, ast.Name):
        stored = [
            each.value
            for each in _statements(node)
            if isinstance(each, ast.Assign) and any(getattr(target, "id", "") == owner.id for target in each.targets)
        ]
        owner = stored[0] if len(stored) == 1 else None
    index, arguments = _key_of(owner), [each.arg for each in node.args.args]
    is_own = index is not None and isinstance(owner.value, ast.Attribute) and getattr(owner.value.value, "id", "") == arguments[0]
    if not is_own or len(arguments) != 2 or getattr(index, "id", "") != arguments[1]:
        return "", ""
    return str(owner.value.attr), str(read_constant(key))


def _key_of(node: Any) -> Any:
    """What stands in the brackets; up to Python 3.8 it is wrapped in a node of its own."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    return getattr(key, "value", None) if type(key).__name__ == "Index" else key


def find_stores(code: Any, owner: str, attributes: list[str], names: list[str]) -> list[tuple[str, int]]:
    """Where the methods of a class assign these attributes, but in `__init__`, and functions of the file these global names, or
    append to them."""
    tree = parse_source("".join(linecache.getlines(code.co_filename)))
    found: list[tuple[str, int]] = []
    classes = (
        [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == owner] if tree is not None else []
    )
    methods = [each for body in classes for each in body.body if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
    for node in [part for method in methods for part in ast.walk(method)]:
        is_own = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "self"
        if is_own and isinstance(node.ctx, ast.Store) and node.attr in attributes:  # type: ignore[attr-defined]
            found.append((f"self.{node.attr}", node.lineno))  # type: ignore[attr-defined]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _GROW:
            grown = getattr(getattr(node.func, "value", None), "attr", "")
            found += [(f"self.{grown}", node.lineno)] if grown in attributes else []
    for function in [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)] if tree is not None else []:
        shared = {name for each in ast.walk(function) if isinstance(each, ast.Global) for name in each.names}
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in shared and node.id in names:
                found.append((node.id, node.lineno))
            elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _GROW:
                grown = getattr(getattr(node.func, "value", None), "id", "")
                found += [(grown, node.lineno)] if grown in names else []
    return list(dict.fromkeys(found))


def find_key(key: str, files: list[str]) -> Optional[str]:
    """Where a dict is written in one of the files that has this key, or it is given one."""
    for file in files:
        tree = parse_source("".join(linecache.getlines(file)))
        for node in ast.walk(tree) if tree is not None else ():
            keys = node.keys if isinstance(node, ast.Dict) else []
            for each in keys:
                if is_constant(each) and read_constant(each) == key:
                    return f"{file}:{each.lineno}"  # type: ignore[union-attr]
            is_call = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "dict"
            if is_call and any(each.arg == key for each in node.keywords):  # type: ignore[attr-defined]
                return f"{file}:{node.lineno}"  # type: ignore[attr-defined]
    return None


def find_saved(files: list[str]) -> tuple[Optional[str], list[str]]:
    """The dict that is given to torch.save, and its keys for what is neither written out there nor a state_dict()."""
    for file in files:
        tree = parse_source("".join(linecache.getlines(file)))
        calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)] if tree is not None else []
        for call in calls:
            owner = getattr(getattr(call.func, "value", None), "id", "")
            given = call.args[0] if (owner, getattr(call.func, "attr", "")) == ("torch", "save") and call.args else None
            if isinstance(given, ast.Dict):
                pairs = [(read_constant(key), value) for key, value in zip(given.keys, given.values)]  # noqa: B905
                names = [str(key) for key, value in pairs if key and not is_constant(value) and not _is_state(value)]
                return f"{file}:{given.lineno}", names[:MAX_PARTS]
    return None, []


def _is_state(value: Any) -> bool:
    return isinstance(value, ast.Call) and getattr(value.func, "attr", "") == "state_dict"


def is_growth(statement: Any, name: str) -> bool:
    """Whether it appends one element to the list of this name."""
    call = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "append" and getattr(function.value, "id", "") == name


def name_parts(file: str, line: int) -> list[str]:
    """What the function that begins at a line returns, part by part, by the names it has there; empty where none stands out."""
    tree = parse_source("".join(linecache.getlines(file)))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [each for each in ast.walk(tree) if isinstance(each, kinds) and each.lineno == line] if tree is not None else []
    value = find_returned(nodes[0]) if nodes else None
    if value is None:
        return []
    names = [each for each in _statements(nodes[0]) if isinstance(each, ast.Name)]
    own = {each.id for each in names if isinstance(each.ctx, ast.Store)} | {each.arg for each in nodes[0].args.args}
    return [_name_of(part, own) for part in (value.elts if isinstance(value, ast.Tuple) else [value])]


def _name_of(part: Any, own: set[str]) -> str:
    """The one name of the function's own in it; else the one key by which it is read."""
    names = {each.id for each in ast.walk(part) if isinstance(each, ast.Name) and each.id in own}
    keys = {str(read_constant(each)) for each in ast.walk(part) if is_constant(each) and type(read_constant(each)) is str}
    return next(iter(names)) if len(names) == 1 and not keys else next(iter(keys)) if len(keys) == 1 else ""


def _row(file: str, number: int) -> dict[str, Any]:
    return {"where": f"{file}:{number}", "source": linecache.getline(file, number).strip()}


def find_definition(function: Any) -> tuple[Any, Any]:
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


def find_returned(node: Any) -> Any:
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
