"""The containers that the program's own code can name: globals, locals of running functions, attributes, closures, caches."""

from __future__ import annotations

import functools
import gc
import inspect
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from types import FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any, Optional

from unstall.probe.core.user_code import is_of_keras, is_user_code, is_user_path

KINDS: frozenset[type] = frozenset({list, dict, set, deque, defaultdict, OrderedDict})
FRAMEWORKS = ("keras", "tf_keras", "tensorflow", "torch")
MAX_INSTANCES = 20_000
MAX_NESTED = 64  # a dict with at most so many entries is looked into: {"loss": [...], "outputs": [...]}
MAX_KINDS = 4_000
_not_theirs: set[type] = {list, dict, tuple, set, FunctionType}  # kinds that no code of the program defines; learned
_CACHE = type(functools.lru_cache(maxsize=1)(lambda: None))


@dataclass(frozen=True)
class Place:
    """Where a container is named: enough to find the lines of source that change it."""

    name: str  # as in source: losses, self.history, CACHE
    file: str
    scope: str  # local, attribute, global, closure, cache
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


def find_containers() -> Iterator[tuple[Place, Any]]:
    """Each with where it is named. One that has several names may come several times."""
    yield from _globals()
    if sys.gettrace() is None:  # a debugger uses the frames' copies of their locals
        for frame in sys._current_frames().values():
            yield from _locals_of_stack(frame)
    yield from _tracked()


def _is_container(value: Any) -> bool:
    """One of Python's own, or of those that a framework puts in their place in a model's attributes."""
    kind = type(value)
    return kind in KINDS or (isinstance(value, (list, dict)) and str(kind.__module__).partition(".")[0] in FRAMEWORKS)


def _nested(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    if not _is_container(value):
        return
    yield place, value
    if isinstance(value, dict) and len(value) <= MAX_NESTED:
        for key, inner in list(value.items()):
            if isinstance(key, str) and _is_container(inner):
                yield Place(f"{place.name}[{key!r}]", place.file, place.scope, place.owner, place.line), inner


def _globals() -> Iterator[tuple[Place, Any]]:
    for module_name, module in list(sys.modules.items()):
        file = _file(module)
        if file is None or not is_user_path(file):
            continue
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                yield from _nested(Place(name, file, "global", module_name), value)


def _file(module: Any) -> Optional[str]:
    """Read from the module's own dict: an attribute of a lazy module would import it."""
    file = module.__dict__.get("__file__") if isinstance(module, ModuleType) else None
    return file if isinstance(file, str) else None


def _locals_of_stack(frame: Optional[FrameType]) -> Iterator[tuple[Place, Any]]:
    while frame is not None:
        code = frame.f_code
        if is_user_code(code) and code.co_name != "<module>" and "locals" not in code.co_names:
            yield from _locals_of_frame(frame)
        frame = frame.f_back


def _locals_of_frame(frame: FrameType) -> Iterator[tuple[Place, Any]]:
    """Before Python 3.13 a look makes the frame keep a copy of its locals, and so keeps them alive: it is emptied at once."""
    code, copy = frame.f_code, frame.f_locals
    function = getattr(code, "co_qualname", code.co_name)
    found = [(name, value) for name, value in copy.items() if _is_container(value)]
    if type(copy) is dict and code.co_flags & inspect.CO_NEWLOCALS:
        copy.clear()
    for name, value in found:
        yield from _nested(Place(name, code.co_filename, "local", function, code.co_firstlineno), value)


def _tracked() -> Iterator[tuple[Place, Any]]:
    """What the garbage collector knows: instances of the program's own classes, generators at rest, closures, caches."""
    objects = gc.get_objects()
    found = [each for each in objects if type(each) not in _not_theirs]
    for function in [each for each in objects if type(each) is FunctionType and each.__closure__]:
        yield from _closure(function)
    del objects
    instances = 0
    for each in found:
        kind = type(each)
        if kind is GeneratorType:
            if is_user_code(each.gi_code) and not each.gi_running:
                yield from _locals_of_stack(each.gi_frame)
        elif kind is _CACHE:
            yield from _cache(each)
        elif kind in _not_theirs:
            continue
        else:
            file = _user_file(kind)
            if file is None and len(_not_theirs) < MAX_KINDS:
                _not_theirs.add(kind)
            elif file is not None and instances < MAX_INSTANCES:
                instances += 1
                yield from _attributes(each, file)


def _user_file(kind: type) -> Optional[str]:
    file = _file(sys.modules.get(str(kind.__module__)))
    return file if file is not None and is_user_path(file) else None


def _attributes(instance: Any, file: str) -> Iterator[tuple[Place, Any]]:
    kind = type(instance)
    try:
        attributes = object.__getattribute__(instance, "__dict__")
    except AttributeError:
        return
    for name, value in list(attributes.items()):
        if not name.startswith("__"):
            yield from _nested(Place(f"self.{name}", file, "attribute", kind.__qualname__), value)


def _closure(function: FunctionType) -> Iterator[tuple[Place, Any]]:
    code = function.__code__
    if not is_user_code(code):
        return
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):  # noqa: B905 - strict= is not in Python 3.7
        try:
            value = cell.cell_contents
        except ValueError:
            continue  # not set yet
        yield from _nested(Place(name, code.co_filename, "closure", function.__qualname__, code.co_firstlineno), value)


def _cache(wrapper: Any) -> Iterator[tuple[Place, Any]]:
    code = getattr(getattr(wrapper, "__wrapped__", None), "__code__", None)
    if code is not None and code.co_filename.endswith(".py") and is_user_code(code) and wrapper.cache_info().maxsize is None:
        place = Place(f"the cache of {wrapper.__name__}", code.co_filename, "cache", code.co_name, code.co_firstlineno)
        yield place, CacheLength(wrapper)


# How much the entries of a container take, by a look at the newest few; and in one word what they are.
#
# Only attributes of frameworks' own types are read: an attribute of the program's own might run its code.


SAMPLED = 12
DEEPEST = 3
WIDEST = 16
_BUILTIN = (int, float, complex, bool, str, bytes, bytearray, type(None))


def find_newest(container: Any, grown: int) -> tuple[str, Optional[int]]:
    """(what the newest entries are, mean bytes of one; None where it cannot be told)."""
    entries = list(islice(_newest_first(container), max(1, min(SAMPLED, grown))))
    if not entries:
        return "", 0
    sizes = [_size(entry, 0) for entry in entries]
    holds = _name(entries[0])
    if any(size is None for size in sizes):
        return holds, None
    return holds, sum(size for size in sizes if size is not None) // len(sizes)


def _newest_first(container: Any) -> Any:
    if isinstance(container, dict):
        has_order = type(container) is dict and sys.version_info >= (3, 8)  # before, a dict could not be reversed without a copy
        return reversed(container.values()) if has_order else reversed(list(dict.values(container)))
    if isinstance(container, (list, deque)):
        return reversed(container)
    return iter(container)


def _name(entry: Any) -> str:
    """The kind of an entry. Of a pair or a small list, what lies in it that is large."""
    if isinstance(entry, (list, tuple, dict)):
        inner = list(islice(entry.values() if isinstance(entry, dict) else iter(entry), WIDEST))
        large = [each for each in inner if not isinstance(each, _BUILTIN)]
        return _name(large[0]) if large and not isinstance(large[0], (list, tuple, dict)) else type(entry).__name__
    kind = type(entry)
    if _top(kind) == "torch" and hasattr(entry, "grad_fn"):
        return "Tensor with its graph" if entry.grad_fn is not None else "Tensor"
    return {"ArrayImpl": "Array", "EagerTensor": "Tensor"}.get(kind.__name__, kind.__name__)


def _top(kind: type) -> str:
    return (kind.__module__ or "").partition(".")[0]


def _size(entry: Any, depth: int) -> Optional[int]:
    """Bytes, or None where an entry holds more than can be seen (a tensor with its graph)."""
    if isinstance(entry, _BUILTIN):
        return sys.getsizeof(entry)
    if isinstance(entry, (list, tuple, set, frozenset, deque, dict)):
        return _inner_size(entry, depth)
    top = _top(type(entry))
    if any(map(is_of_keras, type(entry).__mro__)):
        return _weights_size(entry)
    if top in ("numpy", "jax", "jaxlib", "cupy"):
        return _array_size(entry)
    if top == "torch":
        return _torch_size(entry)
    if top == "tensorflow":
        return _tensorflow_size(entry)
    if depth < DEEPEST:
        try:
            attributes = object.__getattribute__(entry, "__dict__")
        except AttributeError:
            return 64
        return 64 + (_inner_size(attributes, depth + 1) or 0)
    return 64


def _inner_size(container: Any, depth: int) -> Optional[int]:
    count = len(container)
    own = 56 + 8 * count
    if depth >= DEEPEST or not count:
        return own
    values = container.values() if isinstance(container, dict) else container
    sizes = [_size(each, depth + 1) for each in islice(iter(values), WIDEST)]
    if any(size is None for size in sizes):
        return None
    return own + sum(size for size in sizes if size is not None) * count // len(sizes)


def _array_size(array: Any) -> int:
    """A view keeps the whole array alive."""
    size = int(getattr(array, "nbytes", 64) or 64)
    base = getattr(array, "base", None)
    return max(size, int(getattr(base, "nbytes", 0) or 0)) if type(base) is type(array) else size


def _torch_size(tensor: Any) -> Optional[int]:
    if not hasattr(tensor, "element_size"):
        return 64
    if getattr(tensor, "grad_fn", None) is not None:
        return None
    return int(tensor.element_size() * tensor.nelement())


def _tensorflow_size(tensor: Any) -> Optional[int]:
    shape, dtype = getattr(tensor, "shape", None), getattr(tensor, "dtype", None)
    try:
        count = shape.num_elements() if shape is not None else None
        return int(count * (dtype.size or 8)) + 128 if count is not None and dtype is not None else None
    except (AttributeError, ValueError):
        return None  # a function, a tape: what it holds cannot be seen


def _weights_size(model: Any) -> Optional[int]:
    """A model with what its optimizer keeps for each weight."""
    weights = getattr(model, "weights", None)
    if not isinstance(weights, list):
        return None
    total = 0
    optimizer = getattr(model, "optimizer", None)
    variables = getattr(optimizer, "variables", None)
    for variable in [*weights, *((variables() if callable(variables) else variables) or [])]:
        count = 1
        for side in getattr(variable, "shape", ()):
            count *= int(side or 1)
        total += count * 4
    return total
