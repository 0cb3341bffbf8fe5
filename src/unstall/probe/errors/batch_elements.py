"""Which element of a batch or a list an error is about: its shape, its number, and what it was made from: a file, mostly.

A worker of a DataLoader catches its error and sends the text to the process that trains. What the worker sees of its own lines,
and of the elements of the batch, goes with it as plain data. It is read when the error is there, and never before.
"""

from __future__ import annotations

import ast
import pickle
import sys
import time
from collections.abc import Callable
from types import FrameType, ModuleType, TracebackType
from typing import Any, Optional

from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.errors import returned_parts
from unstall.probe.errors.values import describe_named, is_known, read_shape

SENT = "_unstall_seen"  # by a worker, on the error that it sends
MAX_ELEMENTS = 4096  # of a batch
MAX_PARTS = 16
MAX_SUBSETS = 5
MAX_SHAPES = 8  # of one part
_FETCH = "utils/data/_utils/fetch.py"


def install_workers(module: ModuleType, probe: Probe, look: Callable[[Any, Any], dict[str, Any]]) -> None:
    """torch._utils: what an error becomes that a worker sends. `look` reads the error and its traceback."""

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(wrapper: Any, *args: Any, **kwargs: Any) -> None:
            original(wrapper, *args, **kwargs)
            given = args[0] if args else kwargs.get("exc_info")
            probe.shield.call("worker errors", note, wrapper, given or sys.exc_info())

        return __init__

    def note(wrapper: Any, exc_info: Any) -> None:
        seen = look(exc_info[1], exc_info[2])
        pickle.dumps(seen)  # plain data, which can be sent: else it stays here
        object.__setattr__(wrapper, SENT, seen)

    wrap(getattr(module, "ExceptionWrapper", None), "__init__", make)


def find_sent(frames: list[FrameType]) -> dict[str, Any]:
    """What a worker has seen of an error that is raised again in this process."""
    for frame in reversed(frames):
        wrapper = frame.f_locals.get("self") if frame.f_code.co_name == "reraise" else None
        seen = getattr(wrapper, "__dict__", {}).get(SENT)
        if type(seen) is dict:
            return seen
    return {}


# --- the elements that were to be put into one batch ---


def find_batch(traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    """The parts of the elements by their shapes, and what the element was made from that differs."""
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        if frame.f_code.co_name == "fetch" and frame.f_code.co_filename.endswith(_FETCH) and time.monotonic() < until:
            return _of_fetch(frame.f_locals, until)
    return []


def _of_fetch(names: dict[str, Any], until: float) -> list[dict[str, Any]]:
    elements, indices = names.get("data"), names.get("possibly_batched_index")
    if type(elements) is not list or not 1 < len(elements) <= MAX_ELEMENTS:
        return []
    parts = [(name, shapes) for name, shapes in _parts(elements) if len(shapes) > 1]
    if not parts:
        return []
    odd = find_odd(parts[0][1])
    listed = [{"name": name, "shapes": shapes} for name, shapes in parts]
    row = {"what": "batch", "name": "", "count": len(elements), "parts": listed, "odd": odd["first"]}
    dataset = getattr(names.get("self"), "__dict__", {}).get("dataset")
    if type(indices) is list and len(indices) == len(elements):
        row.update(find_made_from(dataset, indices[odd["first"]], until))
    return [row]


def find_odd(shapes: list[dict[str, Any]]) -> dict[str, Any]:
    """The one that the fewest elements have; of several the last."""
    return min(reversed(shapes), key=lambda row: int(row["count"]))


def _parts(elements: list[Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Of tuples and dicts each part; else the elements themselves. Each shape with the first element that has it."""
    first = elements[0]
    names: list[Any] = [None]
    if issubclass(type(first), dict):
        names = list(dict.keys(first))
    elif issubclass(type(first), (list, tuple)):
        names = list(range(len(first)))
    found = []
    for name in names[:MAX_PARTS]:
        shapes: dict[tuple[int, ...], dict[str, Any]] = {}
        for at, element in enumerate(elements):
            shape = read_shape(_part(element, name))
            if shape is not None:
                row = shapes.setdefault(tuple(shape), {"shape": shape, "first": at, "count": 0})
                row["count"] += 1
        found.append((_name_of_part(first, name), list(shapes.values())[:MAX_SHAPES]))
    return found


def _part(element: Any, name: Any) -> Any:
    if name is None:
        return element
    if issubclass(type(element), dict):
        return dict.get(element, name)
    kind: Any = list if issubclass(type(element), list) else tuple
    is_there = issubclass(type(element), (list, tuple)) and name < kind.__len__(element)
    return kind.__getitem__(element, name) if is_there else None


def _name_of_part(first: Any, name: Any) -> str:
    fields = getattr(type(first), "_fields", None)
    return "" if name is None else str(fields[name]) if type(fields) is tuple and type(name) is int else str(name)


def find_made_from(dataset: Any, index: Any, until: float) -> dict[str, Any]:
    """What `self.items[i]` is in the method of the data set that gives the element."""
    for _ in range(MAX_SUBSETS):
        held = getattr(dataset, "__dict__", {})
        order: Any = held.get("indices")
        if not is_known(type(dataset)) or "dataset" not in held or type(index) is not int:
            break
        if issubclass(type(order), (list, range)):
            index = order[index]
        dataset = held["dataset"]
    found: dict[str, Any] = {"index": index} if type(index) is int else {}
    for kind in type(dataset).__mro__:
        method = kind.__dict__.get("__getitem__")
        for attribute in returned_parts.list_indexed(method):
            listed: Any = getattr(dataset, "__dict__", {}).get(attribute)
            if found and type(listed) in (list, tuple) and 0 <= index < len(listed):
                found["length"] = len(listed)
                found["from"] = {"name": f"self.{attribute}[{index}]", **_source(attribute, listed[index], until)}
                return found
    return found


def _source(name: str, value: Any, until: float) -> dict[str, Any]:
    """A value in a few words; of a pair with a path, the path."""
    inner = list(value)[:MAX_PARTS] if type(value) in (list, tuple) else [value]
    texts = [each for each in inner if issubclass(type(each), str) or type(each).__module__.startswith("pathlib")]
    return describe_named(name, texts[0] if texts else value, until)


# --- a list that was made element by element from another ---


def find_source(
    value: dict[str, Any], made: Optional[ast.stmt], tree: Any, look_up: Callable[[Any], Any], until: float
) -> Optional[dict[str, Any]]:
    """Of a list whose elements have several shapes: what the odd element was made from, where the list has one element for
    each of another. `made` is the statement that gave it its value, `look_up` the value of a name in the frame."""
    if len(value.get("shapes") or ()) < 2 or made is None:
        return None
    odd = find_odd(value["shapes"])["first"]
    given = _loop_over(value["name"], made, tree)
    for node in given.args if isinstance(given, ast.Call) and _called(given) in ("enumerate", "zip", "tqdm") else [given]:
        listed: Any = look_up(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if type(listed) in (list, tuple) and len(listed) == value.get("length"):
            owner = getattr(getattr(node, "value", None), "id", "")
            name = f"{owner}.{getattr(node, 'attr', '')}" if owner else getattr(node, "id", "")
            return {"name": f"{name}[{odd}]", **_source(name, listed[odd], until)}
    return None


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", "") or getattr(node.func, "attr", "")


def _loop_over(name: str, made: ast.stmt, tree: Any) -> Any:
    """`paths` of `[read(path) for path in paths]`, and of a loop over it whose body appends once, without a condition."""
    value = getattr(made, "value", None)
    if isinstance(value, ast.ListComp):
        loop = value.generators[0]
        return loop.iter if len(value.generators) == 1 and not loop.ifs else None
    loops = []
    for node in ast.walk(tree) if tree is not None else ():
        grown = [each for each in node.body if returned_parts.is_growth(each, name)] if isinstance(node, ast.For) else []
        if grown and isinstance(node, ast.For) and made.lineno < node.lineno:
            has_exits = any(isinstance(each, (ast.Continue, ast.Break)) for each in ast.walk(node))
            loops.append(node.iter if len(grown) == 1 and not has_exits else None)
    return loops[0] if len(loops) == 1 else None
