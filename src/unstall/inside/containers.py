"""The containers that the program's own code can name: globals, locals of running functions, attributes, closures, caches.

Frames are asked by gc.get_referents, not by f_locals: that would keep a copy of all locals, and so keep them alive.
"""

from __future__ import annotations

import functools
import gc
import inspect
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import CellType, CodeType, FrameType, FunctionType, GeneratorType
from typing import Any, Optional

from unstall.inside.places import is_user_code, is_user_path

KINDS: frozenset[type] = frozenset({list, dict, set, deque, defaultdict, OrderedDict})
MOST_INSTANCES = 20_000
MOST_NESTED = 64  # a dict with at most so many entries is looked into: {"loss": [...], "outputs": [...]}
MOST_KINDS = 4_000
_not_theirs: set[type] = {list, dict, tuple, set, FunctionType, CellType}  # kinds that no code of the program defines; learned
_CACHE = type(functools.lru_cache(maxsize=1)(lambda: None))


@dataclass(frozen=True)
class Place:
    """Where a container is named: enough to find the lines of source that change it."""

    name: str  # as in source: losses, self.history, CACHE; "" for a local, whose name is asked for only when it matters
    file: str
    scope: str  # local, attribute, global, cache
    owner: str  # function or class
    line: int = 0  # of the function's definition


class CacheLength:
    """An unbounded lru_cache, as something with a length."""

    def __init__(self, wrapper: Any) -> None:
        self.wrapper = wrapper
        self.length: int = wrapper.cache_info().currsize

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        stored = next(
            (each for each in gc.get_referents(self.wrapper) if isinstance(each, dict) and len(each) == self.length), {}
        )
        return iter(list(stored.values())[-16:])


def containers() -> Iterator[tuple[Place, Any]]:
    """Each with where it is named. One that has several names may come several times."""
    yield from _globals()
    for frame in sys._current_frames().values():
        yield from _locals_of_stack(frame)
    yield from _tracked()


def _nested(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    kind = type(value)
    if kind not in KINDS:
        return
    yield place, value
    if kind in (dict, defaultdict, OrderedDict) and len(value) <= MOST_NESTED:
        for key, inner in list(value.items()):
            if type(inner) in KINDS and isinstance(key, str):
                yield Place(f"{place.name}[{key!r}]", place.file, place.scope, place.owner, place.line), inner


def _globals() -> Iterator[tuple[Place, Any]]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not is_user_path(file):
            continue
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                yield from _nested(Place(name, file, "global", module.__name__), value)


def _locals_of_stack(frame: Optional[FrameType]) -> Iterator[tuple[Place, Any]]:
    while frame is not None:
        code = frame.f_code
        if is_user_code(code) and code.co_name != "<module>":
            yield from _locals(code, gc.get_referents(frame))
        frame = frame.f_back


def _locals(code: CodeType, referents: list[Any]) -> Iterator[tuple[Place, Any]]:
    """Locals without their names: those are found in the source when one of them is told."""
    function = getattr(code, "co_qualname", code.co_name)
    for referent in referents:
        value = _contents(referent) if type(referent) is CellType else referent
        if type(value) in KINDS and (type(value) is not dict or "__builtins__" not in value):
            yield from _nested(Place("", code.co_filename, "local", function, code.co_firstlineno), value)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # not set yet


def local_name(container: Any, place: Place) -> str:
    """What a local is called. The look makes the frame keep a copy of its locals: that is emptied at once."""
    if sys.gettrace() is not None:
        return ""
    for frame in _frames_of(place):
        names = [name for name, value in frame.f_locals.items() if value is container]
        copy = frame.f_locals
        if type(copy) is dict and frame.f_code.co_flags & inspect.CO_NEWLOCALS and "locals" not in frame.f_code.co_names:
            copy.clear()
        del copy
        if names:
            return names[0]
    return ""


def _frames_of(place: Place) -> Iterator[FrameType]:
    """The running frames, and the generators at rest, of the function that a place names."""
    for innermost in sys._current_frames().values():
        frame: Optional[FrameType] = innermost
        while frame is not None:
            if _is_at(frame.f_code, place):
                yield frame
            frame = frame.f_back
    for each in gc.get_objects():
        if type(each) is GeneratorType and each.gi_frame is not None and _is_at(each.gi_code, place):
            yield each.gi_frame


def _is_at(code: CodeType, place: Place) -> bool:
    return code.co_filename == place.file and code.co_firstlineno == place.line


def _tracked() -> Iterator[tuple[Place, Any]]:
    """What the garbage collector knows: instances of the program's own classes, generators at rest, caches."""
    found = [each for each in gc.get_objects() if type(each) not in _not_theirs]
    instances = 0
    for each in found:
        kind = type(each)
        if kind is GeneratorType:
            if is_user_code(each.gi_code) and not each.gi_running:
                yield from _locals(each.gi_code, gc.get_referents(each))
        elif kind is _CACHE:
            yield from _cache(each)
        elif kind in _not_theirs:
            continue
        elif (file := _user_file(kind)) is None:
            if len(_not_theirs) < MOST_KINDS:
                _not_theirs.add(kind)
        elif instances < MOST_INSTANCES:
            instances += 1
            yield from _attributes(each, file)


def _user_file(kind: type) -> Optional[str]:
    module = sys.modules.get(getattr(kind, "__module__", "") or "")
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) and is_user_path(file) else None


def _attributes(instance: Any, file: str) -> Iterator[tuple[Place, Any]]:
    kind = type(instance)
    try:
        attributes = object.__getattribute__(instance, "__dict__")
    except AttributeError:
        return
    for name, value in list(attributes.items()):
        if type(value) in KINDS and not name.startswith("__"):
            yield from _nested(Place(f"self.{name}", file, "attribute", kind.__qualname__), value)


def _cache(wrapper: Any) -> Iterator[tuple[Place, Any]]:
    code = getattr(getattr(wrapper, "__wrapped__", None), "__code__", None)
    if code is not None and code.co_filename.endswith(".py") and is_user_code(code) and wrapper.cache_info().maxsize is None:
        place = Place(f"the cache of {wrapper.__name__}", code.co_filename, "cache", code.co_name, code.co_firstlineno)
        yield place, CacheLength(wrapper)
