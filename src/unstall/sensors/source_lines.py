"""The program's own source at the lines where its threads stand: the text, and the locks around it.

A stack says that a thread stands in line 43. The source says that this line takes `self.cache_lock`, and that it lies
inside `with self.index_lock`: so the thread holds the one and waits for the other.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from unstall.journal.events import SourceRead, StackSampled
from unstall.journal.stack_frames import select_user_frames

MAX_LINES = 60
LARGEST_FILE_BYTES = 2_000_000
LONGEST_TEXT = 200


@dataclass(frozen=True)
class _LockAcquisition:
    lock: str
    line: int
    by: str  # with | acquire | maybe


_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module


def read(samples: list[StackSampled]) -> list[SourceRead]:
    """One event for each line of the user's that a thread of these samples stands at."""
    places: dict[tuple[str, int], str] = {}
    for sample in samples:
        for thread in sample.threads:
            for frame in select_user_frames(thread):
                places.setdefault((frame["file"], frame["line"]), frame["function"])
    found = (read_line(file, line) for file, line in list(places)[:MAX_LINES])
    return [event for event in found if event is not None]


def read_line(file: str, line: int) -> SourceRead | None:
    """None where the source cannot be read or is not Python."""
    parsed = _parse(file)
    if parsed is None:
        return None
    tree, lines = parsed
    if not 1 <= line <= len(lines):
        return None
    function = _innermost_function(tree, line)
    held = _held_at(function, line)
    awaits = _taken_at(function, line)
    bound = _bound_names(function)
    return SourceRead(
        at=time.time(),
        file=file,
        line=line,
        text=lines[line - 1].strip()[:LONGEST_TEXT],
        function=getattr(function, "name", "<module>"),
        is_generator=any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function)),
        awaits=awaits,
        holds=[each.lock for each in held],
        taken_at=[each.line for each in held],
        taken_by=[each.by for each in held],
        either=_in_one_line(function, line),
        bound=sorted({name for name in [*awaits, *(each.lock for each in held)] if re.split(r"[.\[]", name)[0] in bound}),
        loop=_loop_around(function, line),
        handed=_handed(file),
    )


@lru_cache(maxsize=64)
def _parse(file: str) -> tuple[ast.Module, list[str]] | None:
    try:
        path = Path(file)
        if path.stat().st_size > LARGEST_FILE_BYTES:
            return None
        text = path.read_text(encoding="utf-8", errors="replace")
        return ast.parse(text), text.splitlines()
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _innermost_function(tree: ast.Module, line: int) -> _Function:
    best: _Function = tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _covers(node, line):
            best = node  # walk goes from the outside to the inside
    return best


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions defined in it."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def _bound_names(function: _Function) -> set[str]:
    """The names that a call of this function has for itself: its arguments, and what it assigns."""
    if isinstance(function, ast.Module):
        return set()
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, *(each for each in (given.vararg, given.kwarg) if each)]
    shared: set[str] = set()
    assigned: set[str] = set()
    for node in _own_nodes(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            shared |= set(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
    return {each.arg for each in arguments} | (assigned - shared)


def _taken_at(function: _Function, line: int) -> list[str]:
    """The locks that the statement at this line takes, in order: `with a, b:` or `a.acquire()`."""
    taken: list[str] = []
    for node in _own_nodes(function):
        if isinstance(node, ast.With) and node.lineno <= line < node.body[0].lineno:
            taken += [name for item in node.items if (name := _lock_name(item.context_expr)) is not None]
        elif (name := _method_of(node, "acquire")) is not None and _on_line(node, line):
            taken.append(name)
    return taken + _in_one_line(function, line)


def _in_one_line(function: _Function, line: int) -> list[str]:
    """The locks of a `with` whose body stands in the same line: a thread there may still be taking them, or be in the body."""
    return [
        name
        for node in _own_nodes(function)
        if isinstance(node, ast.With) and node.lineno <= line == node.body[0].lineno == _last_line(node.items)
        for item in node.items
        if (name := _lock_name(item.context_expr)) is not None
    ]


def _last_line(items: list[ast.withitem]) -> int:
    last = items[-1].optional_vars or items[-1].context_expr
    return last.end_lineno or last.lineno


def _held_at(function: _Function, line: int) -> list[_LockAcquisition]:
    """The locks that are held at this line: it lies in the body of a `with`, or between acquire() and release()."""
    held: list[_LockAcquisition] = []
    calls: list[tuple[int, ast.Call, str, str]] = []
    for node in _own_nodes(function):
        if isinstance(node, ast.With) and node.body[0].lineno <= line <= (node.end_lineno or node.lineno):
            names = [name for item in node.items if (name := _lock_name(item.context_expr)) is not None]
            held += [_LockAcquisition(name, node.lineno, "with") for name in names]
        for method in ("acquire", "release"):
            name = _method_of(node, method)
            if name is not None and isinstance(node, ast.Call) and (node.end_lineno or node.lineno) < line:
                calls.append((node.lineno, node, name, method))
    sure = _passed_before(function, line)
    last: dict[str, _LockAcquisition | None] = {}
    for number, call, name, method in sorted(calls, key=lambda each: each[0]):
        by = "acquire" if id(call) in sure and not call.args and not call.keywords else "maybe"
        last[name] = _LockAcquisition(name, number, by) if method == "acquire" else None
    named = {each.lock for each in held}
    return held + [taken for taken in last.values() if taken is not None and taken.lock not in named]


def _passed_before(function: _Function, line: int) -> set[int]:
    """The calls that every way to this line passes: statements of their own, before it, in the blocks around it."""
    passed: set[int] = set()
    blocks: list[ast.AST] = [function]
    while blocks:
        block = blocks.pop()
        for _, body in ast.iter_fields(block):
            statements = [each for each in body if isinstance(each, ast.stmt)] if isinstance(body, list) else []
            around = [each for each in statements if _covers(each, line)]
            if around:
                before = statements[: statements.index(around[0])]
                passed |= {id(each.value) for each in before if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)}
            blocks += around
            handlers = [each for each in body if isinstance(each, ast.ExceptHandler)] if isinstance(body, list) else []
            blocks += handlers
    return passed


def _loop_around(function: _Function, line: int) -> list[int]:
    for node in _own_nodes(function):  # from the outside to the inside
        if isinstance(node, ast.For | ast.AsyncFor | ast.While) and _covers(node, line):
            return [node.lineno, node.end_lineno or node.lineno]
    return []


@lru_cache(maxsize=64)
def _handed(file: str) -> list[str]:
    """The locks that somebody gives back who has not taken them, or that are held where a generator rests: for these it does not
    show from the line at which a thread stands whether it holds them."""
    parsed = _parse(file)
    if parsed is None:
        return []
    nodes = [node for node in ast.walk(parsed[0]) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    return sorted({name.rpartition(".")[2] for function in (parsed[0], *nodes) for name in _left_to_others(function)})


def _left_to_others(function: _Function) -> Iterator[str]:
    nodes = list(_own_nodes(function))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    taken: dict[str, int] = {}
    for node in nodes:
        name = _method_of(node, "acquire")
        if name is not None and isinstance(node, ast.Call):
            taken[name] = min(node.lineno, taken.get(name, node.lineno))
    for node in nodes:
        name = _method_of(node, "release")
        if name is not None and isinstance(node, ast.Call) and node.lineno < taken.get(name, node.lineno + 1):
            yield name
        if isinstance(node, ast.Attribute) and node.attr == "release" and id(node) not in called:  # Timer(5, lock.release)
            yield _lock_name(node.value) or ""
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield from (each.lock for each in _held_at(function, node.lineno))


def _lock_name(expression: ast.expr) -> str | None:
    """A plain name, attribute or item, as a lock is written in a `with`. What is called there (open(...)) is none."""
    inner = expression
    while isinstance(inner, ast.Attribute | ast.Subscript):
        inner = inner.value
    return ast.unparse(expression) if isinstance(inner, ast.Name) else None


def _method_of(node: ast.AST, method: str) -> str | None:
    """The text of x in a call of x.method()."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method:
        return _lock_name(node.func.value)
    return None


def _on_line(node: ast.AST, line: int) -> bool:
    return isinstance(node, ast.expr) and node.lineno <= line <= (node.end_lineno or node.lineno)
