"""What an error about other processes leaves unsaid: the part of an object that cannot be pickled, with the line that put it
there, and how the processes ended that this one has started.

Nothing of the program's own is called: what lies in an object is read from its dictionary, and that a process has ended is asked
of the system in a way that leaves the answer for the program, too.
"""

from __future__ import annotations

import ast
import linecache
import os
import re
import sys
import time
from collections.abc import Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any, Optional

from unstall.probe.core.user_code import find_code_place, find_last_line, is_user_code, parse_source
from unstall.probe.errors import returned_parts
from unstall.probe.errors.values import describe_value

MAX_OBJECTS = 2000
MAX_DEPTH = 8
MAX_PROCESSES = 64
MAX_WAIT_S = 2.0  # a process whose connection is cut has ended, or is about to: the system may write its memory to the disk first
MAX_MEMBERS = 64  # of one object that are followed
# What the functions that pickle or copy an object call it.
_GIVEN = ("obj", "process_obj", "x", "func", "fn", "args", "target", "value")
_PICKLING = ("/multiprocessing/", "/concurrent/futures/", "/copy.py", "/torch/serialization.py", "/joblib/", "/cloudpickle/",
             "/pickle.py")  # fmt: skip
_REFUSED = re.compile(r"can(?:no|')t pickle|Can't (?:pickle|get) local object|cannot be pickled|Can't pickle", re.IGNORECASE)
_TYPE = re.compile(r"can(?:no|')t pickle '?(?P<type>[\w.]+)'? objects?\b")
_LOCAL = re.compile(r"local object (?:'|<(?:function|class) '?)(?P<name>(?:[\w.]|<locals>|<lambda>)+)(?:'|>| at )")
_FUNCTION = re.compile(r"[Cc]an't pickle (?:<(?:function|class) '?)(?P<name>(?:[\w.]|<locals>|<lambda>)+)'?(?:>| at )")
_LIBRARY = re.compile(r"(?P<library>\w+) objects cannot be pickled")
# An object of these is never pickled as it lies there.
_NOT_FOLLOWED = ("multiprocessing", "concurrent", "threading", "queue", "_thread")


def find_unpicklable(error: Any, frames: list[tuple[FrameType, int]]) -> list[dict[str, Any]]:
    """The part of the object that the message is about. `frames`: of the traceback, innermost first."""
    message = str(error)
    if not _REFUSED.search(message):
        return []
    seen: set[int] = set()
    for root, name in _roots(frames):
        for value, owner, key in _parts(root, name, seen):
            if _is_meant(value, message):
                return [_row(value, owner, key)]
    return []


def _roots(frames: list[tuple[FrameType, int]]) -> Iterator[tuple[Any, str]]:
    """What was to be pickled; of a copy, which calls itself for each part, the whole."""
    given = []
    for frame, _ in frames:
        if any(part in frame.f_code.co_filename for part in _PICKLING) and not is_user_code(frame.f_code):
            given += [frame.f_locals[name] for name in _GIVEN if name in frame.f_locals]
    for value in reversed(given):
        yield value, ""
    for frame, _ in frames[:1]:
        if is_user_code(frame.f_code):  # a pickler without frames of its own was called here
            yield from ((value, name) for name, value in list(frame.f_locals.items()) if not name.startswith("__"))


def _parts(root: Any, name: str, seen: set[int]) -> Iterator[tuple[Any, Any, str]]:
    """Each value inside, with the object that holds it and the name under which it does."""
    waiting: list[tuple[Any, Any, str, int]] = [(root, None, name, 0)]
    while waiting and len(seen) < MAX_OBJECTS:
        value, owner, key, depth = waiting.pop(0)
        if id(value) in seen or type(value) in (str, bytes, int, float, bool, type(None)):
            continue
        seen.add(id(value))
        yield value, owner, key
        if depth >= MAX_DEPTH or isinstance(value, (type, ModuleType, FunctionType)):
            continue
        waiting += [(part, holder, under, depth + 1) for part, holder, under in _members(value, owner, key)]


def _members(value: Any, owner: Any, key: str) -> list[tuple[Any, Any, str]]:
    """What lies in it. The parts of a list or a dictionary belong to the object that holds that."""
    kind = type(value)
    if issubclass(kind, (list, tuple)):
        plain: Any = list if issubclass(kind, list) else tuple
        length = min(plain.__len__(value), MAX_MEMBERS)
        return [(plain.__getitem__(value, at), owner, key) for at in range(length)]
    if issubclass(kind, dict):
        return [(part, owner, key or str(name)) for name, part in list(dict.items(value))[:MAX_MEMBERS]]
    bound = getattr(value, "__self__", None) if kind.__name__ in ("method", "builtin_function_or_method") else None
    if bound is not None:
        return [(bound, owner, key)]
    if kind.__module__ == "functools" and kind.__name__ == "partial":
        return [(value.func, owner, key), (value.args, owner, key), (value.keywords, owner, key)]
    is_process = any(each.__name__ == "BaseProcess" for each in kind.__mro__)
    if kind.__module__.partition(".")[0] in _NOT_FOLLOWED and not is_process and "Item" not in kind.__name__:
        return []
    own = [each for each in kind.__mro__ if not each.__module__.startswith(("builtins", "torch", "keras", "tensorflow"))]
    if any("__getstate__" in vars(each) or "__reduce__" in vars(each) for each in own):
        return []  # what it gives of itself is not what lies in it
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return []
    return [(part, value, str(name)) for name, part in list(held.items())[: 4 * MAX_MEMBERS]] if type(held) is dict else []


def _is_meant(value: Any, message: str) -> bool:
    kind = type(value)
    named = _LOCAL.search(message) or _FUNCTION.search(message)
    if named is not None:
        owner = value if isinstance(value, (FunctionType, type)) else kind
        name = str(getattr(owner, "__qualname__", ""))
        return name == named["name"] or f"{owner.__module__}.{name}" == named["name"]
    library = _LIBRARY.search(message)
    if library is not None:
        return not isinstance(value, (type, ModuleType)) and kind.__module__.partition(".")[0] == library["library"]
    of_type = _TYPE.search(message)
    wanted = of_type["type"] if of_type is not None else ""
    return wanted in (f"{kind.__module__}.{kind.__qualname__}", kind.__qualname__)


def _row(value: Any, owner: Any, key: str) -> dict[str, Any]:
    is_code = isinstance(value, (FunctionType, type))
    is_own = owner is not None and type(owner).__module__.partition(".")[0] not in _NOT_FOLLOWED
    facts: dict[str, Any] = {"what": "unpicklable", "name": key if is_own or owner is None else ""}
    facts["owner"] = type(owner).__name__ if is_own else ""
    facts["value"] = value.__qualname__ if is_code else describe_value(value, 0.0)["type"]  # no array is looked at
    facts["function"] = isinstance(value, FunctionType)
    defined = find_code_place(value) if isinstance(value, FunctionType) else None
    return {**facts, "where": defined or _set_at(type(owner), key)}


def _set_at(kind: type, name: str) -> Optional[str]:
    """The first line of the program's own class that gives the attribute a value."""
    for each in kind.__mro__ if name else ():
        for function in list(vars(each).values()):
            if isinstance(function, FunctionType):
                place = returned_parts.find_attribute_line(function, name)
                if place is not None:
                    return place
    return None


# --- how the processes ended that this one has started ---


_OF_PROCESSES = ("/multiprocessing/", "/concurrent/futures/process.py", "/torch/utils/data/dataloader.py")
_OF_POOLS = ("BrokenProcessPool", "ProcessExitedException")


def find_ended_processes(error: Any, frames: list[tuple[FrameType, int]]) -> list[dict[str, Any]]:
    """Those that ended otherwise than well, how processes are started, and whether what starts them is run by each again."""
    package = sys.modules.get("multiprocessing.process")
    files = [frame.f_code.co_filename for frame, _ in frames]
    is_meant = type(error).__name__ in _OF_POOLS or any(part in file for part in _OF_PROCESSES for file in files)
    if package is None or not is_meant:
        return []
    processes = _processes(package, frames)
    until = time.monotonic() + (MAX_WAIT_S if isinstance(error, (ConnectionError, EOFError)) else 0.0)
    ended = _ended(processes)
    while not ended and processes and time.monotonic() < until:
        time.sleep(0.02)
        ended = _ended(processes)
    if not ended and type(error).__name__ not in _OF_POOLS:
        return []
    methods = [row["method"] for row in ended] or [_method_of_pools(frames)]
    place = _find_unguarded_line(frames)
    return [{"what": "processes", "name": "", "ended": ended, "method": methods[0], "unguarded": place, "where": place}]


def _processes(package: Any, frames: list[tuple[FrameType, int]]) -> list[Any]:
    """Those that this process has not yet waited for, and those that lie in what the traceback passes through."""
    found = {id(each): each for each in list(getattr(package, "_children", ()))}
    for frame, _ in frames:
        for value in list(frame.f_locals.values()):
            for part in [value, *_held_by(value)]:
                listed = part if type(part) is list else list(part.values()) if type(part) is dict else [part]
                found.update({id(each): each for each in listed[:MAX_PROCESSES] if isinstance(each, package.BaseProcess)})
    return list(found.values())[:MAX_PROCESSES]


def _held_by(value: Any) -> list[Any]:
    try:
        return list(object.__getattribute__(value, "__dict__").values())
    except AttributeError:
        return []


def _ended(processes: list[Any]) -> list[dict[str, Any]]:
    rows = []
    for process in processes:
        popen = vars(process).get("_popen")
        code = _exit_code(popen) if popen is not None else None
        if code:
            rows.append({"name": str(vars(process).get("_name", "")), "exit_code": code, "method": getattr(popen, "method", "")})
    return rows


def _exit_code(popen: Any) -> Optional[int]:
    """As `Process.exitcode` gives it. That the process has ended stays unread, for whoever waits for it."""
    code = getattr(popen, "returncode", None)
    if code is not None or not hasattr(os, "waitid"):
        return code if isinstance(code, int) else None
    try:
        ended = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:  # no child of this process: the server of `forkserver` has started it
        return None
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _method_of_pools(frames: list[tuple[FrameType, int]]) -> str:
    """How the pool at hand starts its processes, else how they are started by default; empty where that is not decided yet."""
    context = sys.modules.get("multiprocessing.context")
    values = [value for frame, _ in frames for value in list(frame.f_locals.values())]
    contexts = [_own(value, "_mp_context") for value in values if type(value).__module__.startswith("concurrent.futures")]
    contexts.append(getattr(context, "_default_context", None))
    for each in contexts:
        actual = _own(each, "_actual_context") or (each if hasattr(type(each), "_name") else _own(each, "_default_context"))
        name = getattr(type(actual), "_name", None)
        if isinstance(name, str):
            return name
    return ""


def _own(value: Any, name: str) -> Any:
    try:
        return object.__getattribute__(value, "__dict__").get(name)
    except AttributeError:
        return None


def _find_unguarded_line(frames: list[tuple[FrameType, int]]) -> Optional[str]:
    """The line of the main module that led here, where nothing keeps a process that imports the module from running it, too."""
    for frame, number in reversed(frames):
        if frame.f_code.co_name != "<module>" or frame.f_globals.get("__name__") != "__main__":
            continue
        if not is_user_code(frame.f_code):
            return None
        tree = parse_source("".join(linecache.getlines(frame.f_code.co_filename)))
        for node in tree.body if tree is not None else ():
            if node.lineno <= number <= find_last_line(node):
                is_guard = isinstance(node, ast.If) and any(
                    isinstance(each, ast.Name) and each.id == "__name__" for each in ast.walk(node.test)
                )
                return None if is_guard else f"{frame.f_code.co_filename}:{number}"
        return None
    return None
