"""What the program keeps: its own lists, dicts and sets that grow while its memory grows, and the line that feeds each.

A leak in Python is nearly always a container that somebody forgot. When memory has grown by some tens of megabytes
since the last look, the containers that the program's own code can name (globals, locals, attributes) are
counted; the ones that grow from look to look are told. Nothing is kept alive by it: containers are known by their id, and
no code of the program's own runs.
"""

from __future__ import annotations

import ast
import linecache
import os
import time
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, Optional, Union

from unstall.journal.events import HoldingsCounted
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import parse_source
from unstall.probe.host import containers
from unstall.probe.host.containers import CacheLength, Place, find_containers
from unstall.probe.loop.custom_training import get_loop

LOOK_EVERY_S = 2.0
FIRST_AFTER_S = 2.0  # after the first step: what is made once has been made
GROWN_BYTES = 24 << 20  # memory must have grown by so much since the last count
MIN_GROWTH = 4  # entries that a container must have gained to be told
MAX_REPORTED = 5
MAX_COUNTS = 60
COST_ALLOWANCE_S = 0.8  # CPU time for all counts, and a share of the run's time more
COST_SHARE = 0.004
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Holder:
    """One container, over several looks. The container itself is not kept."""

    def __init__(self, place: Place, length: int) -> None:
        self.place = place
        self.first = self.length = length
        self.looks = 0

    def saw(self, length: int) -> None:
        self.looks = self.looks + 1 if length > self.length else 0
        if length < self.length:
            self.first = length
        self.length = length


class ContainerGrowth:
    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._due = 0.0
        self._began = time.monotonic()
        self._cost_s = 0.0
        self._steps = 0
        self._counts = 0
        self._first_bytes: Optional[int] = None
        self._last_bytes = 0
        self._holders: dict[int, Holder] = {}

    def step_ended(self, model: Any = None, steps: int = 0) -> None:
        """After each step; costs a comparison unless a look is due."""
        self._steps = steps or self._steps + 1
        now = time.monotonic()
        if now < self._due:
            return
        if self._due == 0.0:
            self._due = now + FIRST_AFTER_S
            return
        self._due = now + LOOK_EVERY_S
        memory = measure_own_bytes()
        if self._first_bytes is None:  # a count looks at all that the interpreter knows: half a second of a large program's time
            self._first_bytes = self._last_bytes = memory
        if memory - self._last_bytes < GROWN_BYTES:
            return
        if self._counts < MAX_COUNTS and self._cost_s <= COST_ALLOWANCE_S + COST_SHARE * (now - self._began):
            began = time.thread_time()
            self._count(memory)
            self._cost_s += time.thread_time() - began

    def _count(self, memory: int) -> None:
        self._counts += 1
        self._last_bytes = memory
        first_bytes = memory if self._first_bytes is None else self._first_bytes
        seen: dict[int, Holder] = {}
        grown: list[tuple[Holder, Any]] = []
        for place, container in find_containers():
            key, length = _key(container), len(container)
            if key in seen:
                continue  # it has several names
            holder = self._holders.get(key)
            if holder is None or holder.place.name != place.name:
                holder = Holder(place, length)
            else:
                holder.saw(length)
                if holder.looks and length - holder.first >= MIN_GROWTH:
                    grown.append((holder, container))
            seen[key] = holder
        self._holders = seen
        rows = [_describe(holder, container) for holder, container in grown]
        rows.sort(key=lambda each: -(each["bytes_each"] or 0) * each["grown"])
        self._probe.emit(
            HoldingsCounted(
                at=time.time(),
                memory_bytes=memory,
                grown_bytes=memory - first_bytes,
                step=self._steps,
                holders=[_with_feeder(each) for each in rows[:MAX_REPORTED] if each["bytes_each"] != 0],
            )
        )


def _key(container: Any) -> int:
    return id(container.wrapper) if isinstance(container, CacheLength) else id(container)


def _describe(holder: Holder, container: Any) -> dict[str, Any]:
    grown = holder.length - holder.first
    holds, bytes_each = containers.find_newest(container, grown)
    return {
        "kind": type(container).__name__,
        "length": holder.length,
        "grown": grown,
        "looks": holder.looks,
        "holds": holds,
        "bytes_each": bytes_each,
        "bounded": getattr(container, "maxlen", None) is not None,
        "name": holder.place.name,
        "place": holder.place,
    }


def _with_feeder(plain: dict[str, Any]) -> dict[str, Any]:
    """The line of source that adds to it, looked for only in what is told."""
    place: Place = plain.pop("place")
    found = find_feeder(place)
    return {**plain, "where": found.where, "sheds": found.sheds, "bounded": plain["bounded"] or found.bounded}


def measure_own_bytes() -> int:
    """The memory of this process that is not backed by files."""
    with open("/proc/self/statm", encoding="ascii") as file:
        fields = file.read().split()
    return (int(fields[1]) - int(fields[2])) * _PAGE


def get_container_growth(probe: Probe) -> ContainerGrowth:
    """The one record of a probe; made, and called after each step from then on, when a framework is first seen."""
    holdings: Optional[ContainerGrowth] = probe.extras.get("holdings")
    if holdings is None:
        holdings = probe.extras["holdings"] = ContainerGrowth(probe)
        probe.on_step.append(holdings.step_ended)
    return holdings


def install(module: ModuleType, probe: Probe) -> None:
    """Any module of a framework that trains: steps that the probe counts are enough."""
    get_container_growth(probe)


def install_torch(module: ModuleType, probe: Probe) -> None:
    """torch.optim.optimizer: a PyTorch loop."""
    holdings, loop = get_container_growth(probe), get_loop(probe)

    def unstall_step(optimizer: Any, args: Any, kwargs: Any) -> None:
        if probe.active and loop.is_mine():
            probe.shield.call("holdings", holdings.step_ended)

    register = getattr(module, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(unstall_step)


# Which line of the program's source adds to a container, and whether any line takes out of it or makes it anew.
#
# Read from the source by its syntax: `x.append(…)`, `x[key] = …`, `x += …` against `x.clear()`, `x.pop()`, `del x[…]`, or a
# new `x = []` inside a loop.


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


def find_feeder(place: Place) -> Feeder:
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
    return parse_source("".join(lines))


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
