"""The program's own lines that an error is about and that no frame of its traceback shows: what makes the elements of a loader,
a function that was called with arguments it does not take, what a layer says of itself when it is saved, lists that keep tensors.
"""

from __future__ import annotations

import difflib
import linecache
import os
import re
import sys
import time
from collections.abc import Iterator
from types import FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any, Optional

from unstall.probe.core.user_code import find_code_place, is_user_code, is_user_path
from unstall.probe.errors import handled_examples, open_files, other_processes, returned_parts

MAX_OBJECTS = 2000
MAX_FILES = 50  # of the program's own
MAX_CHAIN = 12
MAX_KEPT = 3
MIN_KEPT = 8  # tensors in one list
MAX_USER_FRAMES = 3
MAX_DEPTH = 5
_DELETED = re.compile(r"(?:Array|Buffer|buffer) has been deleted|deleted or donated buffer")
_DONATES = re.compile(r"\bdonate_arg(?:num|name)s *=")
_LACKS = re.compile(
    r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'"
    r"|cannot import name '(?P<name_2>\w+)' from (?:partially initialized module )?'(?P<module_2>[\w.]+)'"
    r"(?:.*?\((?P<file>[^()]*\.py)\))?"
    r"|'(?P<module_3>[\w.]+)' is not a package"
)
_GIVEN_KEYS = re.compile(r"data dictionary with keys \[(?P<given>[^\]]*)\]\. Expected the following keys: \[(?P<wanted>[^\]]*)\]")
_CALLED = re.compile(r"\A(?P<name>[\w.<>]+)\(\) (?:takes |missing |got )")
_CONSTRUCTED = re.compile(r"(?P<class>[\w.]+)\.__init__\(\) missing \d+ required [\w-]+ arguments?: (?P<names>.*)|"
                          r"(?P<other>__init__)\(\) missing \d+ required [\w-]+ arguments?: (?P<others>.*)")  # fmt: skip


def find_lines(error: Any, traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    rows = []
    looks = (
        _elements, _configuration, _called, open_files.find_open_files, open_files.find_size_limit, _other_processes,
        _deleted_arrays, _modules, _kept_tracers, _named_parts,
    )  # fmt: skip
    for look in looks:
        if time.monotonic() < until:
            rows += look(error, traceback)
    return rows


def _frames(traceback: Optional[TracebackType]) -> list[tuple[FrameType, int]]:
    """Innermost first."""
    found = []
    while traceback is not None:
        found.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found[::-1]


def _held(value: Any) -> dict[str, Any]:
    """What lies in the object itself."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}


# --- what makes the elements of a DataLoader ---


def _elements(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """The method of the program's own data set that gives them, of the innermost loader in the frames."""
    loader_class = getattr(sys.modules.get("torch.utils.data"), "DataLoader", None)
    if loader_class is None:
        return []
    for frame, _ in _frames(traceback):
        values = list(frame.f_locals.values())
        near = values + [inner for value in values if is_user_code(frame.f_code) for inner in list(_held(value).values())]
        for value in near:
            if issubclass(type(value), loader_class):
                return _of_loader(value)
    return []


def _of_loader(loader: Any) -> list[dict[str, Any]]:
    dataset = _held(loader).get("dataset")
    for _ in range(5):  # a Subset of another
        inner = _held(dataset).get("dataset")
        if inner is None or not type(dataset).__module__.startswith("torch.utils.data"):
            break
        dataset = inner
    for kind in type(dataset).__mro__:
        for name in ("__getitem__", "__iter__"):
            method = kind.__dict__.get(name)
            parts = returned_parts.list_parts(method) if type(method) is FunctionType else []
            if parts:
                numbers = handled_examples.list_numbers(dataset, method, len(parts)) if name == "__getitem__" else []
                place = find_code_place(method)
                return [
                    {"what": "elements", "name": f"{kind.__name__}.{name}", "where": place, "parts": parts, "numbers": numbers}
                ]
    return []


# --- a function that does not take what it was called with ---


def _called(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """One of the program's that a library calls under a name of its own: a callback, say."""
    match = _CALLED.search(str(error)) if isinstance(error, TypeError) else None
    frames = _frames(traceback)
    if match is None or not frames or is_user_code(frames[0][0].f_code):
        return []
    frame, line = frames[0]
    text = linecache.getline(frame.f_code.co_filename, line).strip()
    found: dict[str, tuple[str, Any]] = {}
    for name, value in _within(frame):
        function = value.__func__ if type(value) is MethodType else value
        is_named = type(function) is FunctionType and function.__qualname__ == match["name"]
        if is_named and is_user_code(function.__code__) and re.search(rf"\b{re.escape(name)}\(", text):
            found[find_code_place(function) or ""] = (name, function)
    if len(found) != 1:
        return []
    where, (name, function) = next(iter(found.items()))
    code = function.__code__
    takes = list(code.co_varnames[: code.co_argcount])
    return [{"what": "called", "name": name, "where": where or None, "takes": takes, "call": text}]


def _within(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Names and values in a frame, in the objects there, and in the lists that these hold."""
    waiting: list[tuple[str, Any, int]] = [(name, value, 0) for name, value in list(frame.f_locals.items())]
    count = 0
    while waiting and count < MAX_OBJECTS:
        name, value, depth = waiting.pop(0)
        count += 1
        yield name, value
        if depth >= 4 or type(value) in (str, bytes, int, float, FunctionType, MethodType):
            continue
        if type(value) in (list, tuple):
            waiting += [("", each, depth + 1) for each in value[:64]]
        else:
            waiting += [(key, each, depth + 1) for key, each in list(_held(value).items()) if type(key) is str]


# --- a class that cannot be made again from what it says of itself ---


def _configuration(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """An object is read from a file by from_config, and its class needs an argument which is not in the file."""
    chain = [error]
    while len(chain) < MAX_CHAIN and chain[-1] is not None:
        chain.append(getattr(chain[-1], "__cause__", None) or getattr(chain[-1], "__context__", None))
    for each in reversed([each for each in chain if each is not None]):
        match = _CONSTRUCTED.search(str(each)) if isinstance(each, TypeError) else None
        if match is None:
            continue
        for frame, _ in _frames(each.__traceback__):
            kind = frame.f_locals.get("cls")
            if frame.f_code.co_name == "from_config" and isinstance(kind, type) and _is_meant(kind, match):
                return _of_class(kind, match["names"] or match["others"])
    return []


def _is_meant(kind: type, match: Any) -> bool:
    init = getattr(kind, "__init__", None)
    is_own = type(init) is FunctionType and is_user_code(init.__code__)
    return is_own and (match["class"] is None or kind.__qualname__ == match["class"])


def _of_class(kind: type, names: str) -> list[dict[str, Any]]:
    missing = re.findall(r"'(\w+)'", names)
    method = kind.__dict__.get("get_config")
    has_own = type(method) is FunctionType
    place = find_code_place(method) if has_own else find_code_place(kind.__init__)  # type: ignore[misc]
    lines = returned_parts.find_part_lines(method, None) if has_own else []
    return [
        {"what": "configuration", "name": kind.__name__, "where": place, "missing": missing, "has_own": has_own, "lines": lines}
    ]


# --- other processes ---


def _other_processes(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    frames = _frames(traceback)
    return [*other_processes.find_unpicklable(error, frames), *other_processes.find_ended_processes(error, frames)]


# --- arrays of JAX that were given away ---


def _deleted_arrays(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """The names whose arrays are deleted, and the lines of the program that let a function take its arguments' memory."""
    if not _DELETED.search(str(error)):
        return []
    frames = [frame for frame, _ in _frames(traceback) if is_user_code(frame.f_code)]
    names = [(name, value) for frame in frames[:MAX_USER_FRAMES] for name, value in list(frame.f_locals.items())]
    found: dict[int, str] = {}
    for name, value in names:
        array, path = _find_deleted(name, value, 0)
        if path:
            found.setdefault(id(array), path)  # the innermost name of an array
    rows: list[dict[str, Any]] = [{"what": "deleted", "name": name} for name in list(found.values())[:MAX_KEPT]]
    for file in dict.fromkeys(frame.f_code.co_filename for frame in frames):
        numbers = [at for at, line in enumerate(linecache.getlines(file), 1) if _DONATES.search(line)]
        rows += [{"what": "donates", "name": "", "where": f"{file}:{at}"} for at in numbers[:MAX_KEPT]]
    return rows


def _find_deleted(name: str, value: Any, depth: int) -> tuple[Any, str]:
    """The first array in it that is deleted, and that as an expression: params['w']."""
    kind = type(value)
    if kind.__module__.startswith("jaxlib"):
        return value, name if hasattr(value, "is_deleted") and value.is_deleted() else ""
    if depth >= MAX_DEPTH:
        return None, ""
    if kind in (list, tuple):
        parts = [(f"{name}[{at}]", each) for at, each in enumerate(value[:64])]
    elif kind is dict:
        parts = [(f"{name}[{key!r}]", each) for key, each in list(value.items())[:64] if type(key) in (str, int)]
    elif issubclass(kind, tuple):
        parts = [(f"{name}[{at}]", tuple.__getitem__(value, at)) for at in range(min(tuple.__len__(value), 64))]
    elif kind.__module__ != "builtins" and not isinstance(value, (type, FunctionType)):
        parts = [(f"{name}.{key}", each) for key, each in list(_held(value).items())[:64] if type(key) is str]
    else:
        return None, ""
    inner = (_find_deleted(under, each, depth + 1) for under, each in parts)
    return next((found for found in inner if found[1]), (None, ""))


# --- a module that lacks a name ---


def _modules(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """A file of the program's own that was imported in place of a library of the same name, and names like the one that a library
    lacks."""
    match = _LACKS.search(str(error)) if isinstance(error, (ImportError, AttributeError)) else None
    if match is None:
        return []
    name = match["module"] or match["module_2"] or match["module_3"]
    root, module = name.partition(".")[0], sys.modules.get(name)
    wanted = match["name"] or match["name_2"] or ""
    file = getattr(sys.modules.get(root), "__file__", None) or match["file"]
    if type(file) is str and is_user_path(file):
        hidden = _find_hidden(root, file)
        return [{"what": "shadowing", "name": root, "where": f"{file}:1", "hidden": hidden}] if hidden else []
    if type(module) is not ModuleType or not wanted:
        return []
    names = [each for each in vars(module) if type(each) is str and not each.startswith("_")]
    version = vars(sys.modules[root]).get("__version__") if type(sys.modules.get(root)) is ModuleType else None
    close = difflib.get_close_matches(wanted, names[:MAX_OBJECTS], 3, 0.75)
    return [
        {"what": "lacking", "name": wanted, "module": name, "close": close, "version": version if type(version) is str else ""}
    ]


def _find_hidden(root: str, file: str) -> str:
    """The module of this name that would have been imported without the file."""
    if root in getattr(sys, "stdlib_module_names", ()) or root in sys.builtin_module_names:
        return "the standard library"
    for entry in sys.path:
        for path in (os.path.join(entry, root, "__init__.py"), os.path.join(entry, f"{root}.py")):
            if os.path.abspath(path) != os.path.abspath(file) and os.path.isfile(path) and not is_user_path(path):
                return path
    return ""


def list_files(traceback: Optional[TracebackType]) -> list[str]:
    """The program's own, those of the traceback first."""
    files = [frame.f_code.co_filename for frame, _ in _frames(traceback) if is_user_code(frame.f_code)]
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files += [file for file in loaded if type(file) is str and file.endswith(".py") and is_user_path(file)]
    return list(dict.fromkeys(files))[:MAX_FILES]


# --- parts of the data that no input of a model of Keras is called by ---


def _named_parts(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Where the program's own files write the keys that the message says were given, and were not expected."""
    match = _GIVEN_KEYS.search(str(error))
    if match is None:
        return []
    given, wanted = (re.findall(r"'([^']*)'", match[group]) for group in ("given", "wanted"))
    files = list_files(traceback)
    places = [(name, returned_parts.find_key(name, files)) for name in given if name not in wanted]
    return [{"what": "key", "name": name, "where": place} for name, place in places[:MAX_KEPT] if place is not None]


# --- values of a function that JAX traced, which were kept outside it ---


def _kept_tracers(error: Any, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Where the program's own classes store them in attributes, and its functions in lists and global names."""
    if type(error).__name__ != "UnexpectedTracerError":
        return []
    rows: dict[str, dict[str, Any]] = {}
    for frame, _ in _frames(traceback):
        if not is_user_code(frame.f_code) or len(rows) >= MAX_KEPT:
            continue
        owner = frame.f_locals.get("self")
        kept = [name for name, value in list(_held(owner).items()) if _has_tracer(value)]
        names = [name for name, value in list(frame.f_globals.items()) if _has_tracer(value)]
        for name, line in returned_parts.find_stores(frame.f_code, type(owner).__name__, kept, names):
            where = f"{frame.f_code.co_filename}:{line}"
            rows.setdefault(where, {"what": "stored", "name": name, "where": where})
    return list(rows.values())[:MAX_KEPT]


def _has_tracer(value: Any) -> bool:
    inner = [value]
    if type(value) in (list, tuple, dict):
        inner = list(value.values() if type(value) is dict else value)[-MIN_KEPT:]
    return any(type(each).__module__.startswith("jax") and "Tracer" in type(each).__name__ for each in inner)
