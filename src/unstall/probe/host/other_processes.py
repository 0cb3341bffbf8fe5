"""What an error about other processes leaves unsaid: the part of an object that cannot be pickled, with the line that put it
there, and how the processes ended that this one has started.

Nothing of the program's own is called: what lies in an object is read from its dictionary, and that a process has ended is asked
of the system in a way that leaves the answer for the program, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import FrameType, FunctionType, ModuleType
from typing import Any, Optional

from unstall.probe.core.user_code import find_code_place, is_user_code
from unstall.probe.host import returned_parts
from unstall.probe.host.values import describe_value

MAX_OBJECTS = 2000
MAX_DEPTH = 8
MAX_PROCESSES = 64
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
    return {**facts, "where": _set_at(type(owner), key) or defined, "defined": defined}


def _set_at(kind: type, name: str) -> Optional[str]:
    """The first line of the program's own class that gives the attribute a value."""
    for each in kind.__mro__ if name else ():
        for function in list(vars(each).values()):
            if isinstance(function, FunctionType):
                place = returned_parts.find_attribute_line(function, name)
                if place is not None:
                    return place
    return None
