"""Which of the program's lines made what an error is about: the stages of a tf.data set, a layer, the loss of a model.

The line of a layer is noted when the layer is made; the rest is read when the error is there.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType, ModuleType, TracebackType
from typing import Any, Optional

from unstall.base.errors import attempt
from unstall.probe.core.patches import wrap
from unstall.probe.core.probe import Probe
from unstall.probe.core.user_code import find_last_line, is_user_code, is_user_path, parse_source
from unstall.probe.errors import (
    batch_elements,
    dtype_origins,
    failing_lines,
    handled_examples,
    layer_sizes,
    refused_checkpoints,
    requirements,
    returned_parts,
    torch_objects,
    unseen_lines,
)
from unstall.probe.errors.values import describe_value, is_known
from unstall.probe.input import tf_pipeline

MAX_LAYERS = 4000
MAX_MAKERS = 12
MAX_PIPELINES = 3
MAX_STATEMENT = 12
MAX_LINES_OF_KEY = 3
MAX_LAST_LAYERS = 5
MAX_VARIABLES = 3
MAX_FILES = 50  # of the program's own
_LAYERS = "layers made"
_FEATURE = re.compile(r"(?:Feature: |Key: )(?P<key>[\w./:-]+?)[.,]?(?=\s)")  # of a tf.train.Example
_NAMED = re.compile(r"[\w./-]+")
_NUMBER = re.compile(r"_\d+$")


def install_layers(module: ModuleType, probe: Probe) -> None:
    """keras.src.layers.layer, or engine.base_layer of Keras 2: where each layer is made."""
    made: dict[str, dict[str, Any]] = probe.extras.setdefault(_LAYERS, {})

    def make(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(layer: Any, *args: Any, **kwargs: Any) -> None:
            original(layer, *args, **kwargs)
            if probe.active and len(made) < MAX_LAYERS:
                probe.shield.call("layers made", note, layer)

        return __init__

    def note(layer: Any) -> None:
        name = getattr(layer, "__dict__", {}).get("_name") or getattr(layer, "__dict__", {}).get("name")
        where = _made_at(layer)
        if type(name) is str and where is not None:
            made[name] = {"what": "layer", "name": name, "class": type(layer).__name__, "where": where}

    wrap(getattr(module, "Layer", None), "__init__", make)


def _made_at(layer: Any) -> Optional[str]:
    """The program's line that asked for it: not one of the constructors that made it."""
    frame: Optional[FrameType] = sys._getframe(1)
    inside: Optional[str] = None
    while frame is not None:
        if is_user_code(frame.f_code):
            where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
            names = frame.f_code.co_varnames
            if frame.f_code.co_name != "__init__" or not names or frame.f_locals.get(names[0]) is not layer:
                return where
            inside = inside or where
        frame = frame.f_back
    return inside


def install_workers(module: ModuleType, probe: Probe) -> None:
    """torch._utils: what a worker of a DataLoader sees of an error that it sends to the process that trains."""

    def look(error: Any, traceback: Optional[TracebackType]) -> dict[str, Any]:
        until = time.monotonic() + failing_lines.SECONDS
        return {
            "lines": failing_lines.inspect_lines(traceback, until),
            "calls": failing_lines.inspect_calls(traceback, until),
            "makers": [*batch_elements.find_batch(traceback, until), *handled_examples.find_example(traceback, until)],
        }

    batch_elements.install_workers(module, probe, look)


def find_sent(traceback: Optional[TracebackType]) -> dict[str, Any]:
    return batch_elements.find_sent(list(_frames(traceback)))


def find_makers(probe: Probe, error: Any, traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    rows = [
        *_layers_named(probe, str(error)),
        *_modules_of_torch(traceback, until),
        *_compiled(probe),
        *_lines_with_key(str(error), traceback),
        *unseen_lines.find_lines(error, traceback, until),
        *refused_checkpoints.find_entry(probe, error, traceback),
        *requirements.find_unmet(error, traceback),
        *torch_objects.find_objects(error, traceback),
        *_outputs(probe, traceback),
        *_optimizers(traceback),
        *layer_sizes.find_sizes(list(_frames(traceback))),
        *batch_elements.find_batch(traceback, until),
        *handled_examples.find_example(traceback, until),
        *dtype_origins.find_origins(error, traceback, until),
    ]
    made: dict[str, dict[str, Any]] = probe.extras.get(_LAYERS) or {}
    for row in rows:
        if row["what"] == "sizes":
            row["where"] = made.get(row["name"], {}).get("where")
        row.update(read_source_at(row.get("where")))
    return rows[:MAX_MAKERS]


def _layers_named(probe: Probe, message: str) -> list[dict[str, Any]]:
    """Those that the message speaks of by name; where it says a class only, the one layer of that class."""
    made: dict[str, dict[str, Any]] = probe.extras.get(_LAYERS) or {}
    words = dict.fromkeys(_NAMED.findall(message))
    parts = [part for word in words for part in ([word] if word in made else _of_scope(word, made))]
    found = [dict(made[name]) for name in dict.fromkeys(parts) if name in made]
    kinds = {match.group(1) for match in re.finditer(r"calling (\w+)\.call\(\)", message)}
    for kind in sorted(kinds):
        of_kind = [row for row in made.values() if row["class"] == kind]
        if len(of_kind) == 1 and not any(row["name"] == of_kind[0]["name"] for row in found):
            found.append(dict(of_kind[0]))
    return found


def _of_scope(word: str, made: dict[str, dict[str, Any]]) -> list[str]:
    """The layer in the name of a node: sequential_1/embedding_1/GatherV2. TensorFlow numbers the names by itself when it traces
    a model again, so that embedding_1 may be the layer `embedding`: only where one layer has such a name, it is meant."""
    found = []
    for part in word.split("/") if "/" in word else []:
        alike = [name for name in made if _NUMBER.sub("", name) == _NUMBER.sub("", part)]
        found += alike if len(alike) == 1 else []
    return found[-1:]  # the innermost


def _compiled(probe: Probe) -> list[dict[str, Any]]:
    places: dict[int, str] = probe.extras.get("compiled at") or {}
    return [{"what": "compile", "where": where} for where in list(places.values())[-1:]]


def _outputs(probe: Probe, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """For an error in a loss of the program's own: the last layers of the model compiled with it, up to one with weights."""
    made: dict[str, dict[str, Any]] = probe.extras.get(_LAYERS) or {}
    codes = [frame.f_code for frame in _frames(traceback) if is_user_code(frame.f_code)]
    for frame in _frames(traceback):
        for value in list(frame.f_locals.values()) if is_user_code(frame.f_code) else []:
            kinds = [kind.__name__ for kind in type(value).__mro__ if is_known(kind)]
            loss = getattr(value, "__dict__", {}).get("loss") if "Model" in kinds else None
            code = getattr(loss, "__code__", None)
            if code is not None and any((each.co_filename, each.co_name) == (code.co_filename, code.co_name) for each in codes):
                return _last_layers(value, made)
    return []


def _last_layers(model: Any, made: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for layer in reversed(list(model.layers)[-MAX_LAST_LAYERS:]):
        name = getattr(layer, "__dict__", {}).get("_name") or getattr(layer, "__dict__", {}).get("name")
        if name in made:
            rows.append({**made[name], "what": "output"})
        if is_known(type(layer)) and layer.weights:
            break
    return rows


def _optimizers(traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """An optimizer of Keras that was given variables which it was not built for."""
    frames = list(_frames(traceback))
    for frame in reversed(frames):
        names, optimizer = frame.f_locals, frame.f_locals.get("self")
        if "/optimizers/" not in frame.f_code.co_filename or not is_known(type(optimizer)):
            continue
        built = getattr(optimizer, "__dict__", {}).get("_trainable_variables")
        given: list[Any] = next(
            (names[name] for name in ("trainable_variables", "variables") if type(names.get(name)) is list), []
        )
        if not built:
            continue
        known = {id(variable) for variable in built}
        others = [variable for variable in given if id(variable) not in known]
        if others:
            row = {
                "what": "optimizer",
                "name": type(optimizer).__name__,
                "count": len(built),
                "where": _place_of(optimizer, frames),
            }
            return [{**row, "built_for": _paths(built), "given": _paths(others), "others": len(others)}]
    return []


def _paths(variables: list[Any]) -> list[str]:
    return [str(getattr(variable, "path", None) or variable.name) for variable in variables[:MAX_VARIABLES]]


def _held(owner: Any) -> list[tuple[str, Any]]:
    """What lies in the object itself."""
    try:
        return list(object.__getattribute__(owner, "__dict__").items())
    except AttributeError:
        return []


def _place_of(wanted: Any, frames: list[FrameType]) -> Optional[str]:
    """The line of the class that keeps it as an attribute."""
    for frame in frames:
        owner = frame.f_locals.get("self")
        for name, value in [] if is_known(type(owner)) else _held(owner):
            if value is wanted:
                return _assigned_at(owner, name)
    return None


def _lines_with_key(message: str, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Where the program's own files name the feature of a record that a parser asks for; what describes it first."""
    match = _FEATURE.search(message)
    if match is None:
        return []
    key = match.group("key")
    files = [frame.f_code.co_filename for frame in _frames(traceback) if is_user_code(frame.f_code)][::-1]
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    files += [file for file in loaded if type(file) is str and file.endswith(".py") and is_user_path(file)][:MAX_FILES]
    rows = []
    for file in dict.fromkeys(files):
        for number, line in enumerate(linecache.getlines(file), 1):
            if f'"{key}"' in line or f"'{key}'" in line:
                row = {"what": "feature", "name": key, "where": f"{file}:{number}"}
                rows.append((re.search(r"(?:Len|Ragged|Sparse|Sequence)\w*Feature", line) is None, row))
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])][:MAX_LINES_OF_KEY]


# --- layers of PyTorch: found in the frames of the traceback ---


def _modules_of_torch(traceback: Optional[TracebackType], until: float) -> list[dict[str, Any]]:
    """The layer in which the error arose, by its name in the module that holds it, with the line that made it."""
    if "torch" not in sys.modules:
        return []
    owners: list[Any] = []
    failed: Any = None
    for frame in _frames(traceback):
        held = frame.f_locals.get("self")
        if not _is_torch_module(held):
            continue
        if is_user_code(frame.f_code):
            owners.append(held)
            failed = None
        elif not any(held is owner for owner in owners):
            failed = held
    if failed is None:
        return []
    row = {"what": "layer", "class": type(failed).__name__, **_options(failed, until)}
    for owner in reversed(owners):
        name = _name_within(owner, failed)
        if name is not None:
            return [{**row, "name": name, "where": _assigned_at(owner, name)}]
    return [row]


def _frames(traceback: Optional[TracebackType]) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next


def _is_torch_module(value: Any) -> bool:
    return any(kind.__module__ == "torch.nn.modules.module" and kind.__name__ == "Module" for kind in type(value).__mro__)


def _options(layer: Any, until: float) -> dict[str, Any]:
    facts = describe_value(layer, until)
    return {"options": facts["options"]} if "options" in facts else {}


def _name_within(owner: Any, wanted: Any, before: str = "", depth: int = 0) -> Optional[str]:
    children = object.__getattribute__(owner, "__dict__").get("_modules") or {}
    for name, child in children.items():
        if child is wanted:
            return f"{before}{name}"
        inner = _name_within(child, wanted, f"{before}{name}.", depth + 1) if child is not None and depth < 6 else None
        if inner is not None:
            return inner
    return None


def _assigned_at(owner: Any, name: str) -> Optional[str]:
    """The line in the owner's class that assigns it; of a part of a Sequential, the line of that part, if it can be told."""
    first, _, rest = name.partition(".")
    for kind in type(owner).__mro__:
        init = kind.__dict__.get("__init__")
        code = getattr(init, "__code__", None)
        if code is None or not is_user_code(code):
            continue
        tree = parse_source("".join(linecache.getlines(code.co_filename)))
        if tree is None:
            return None
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                value = _value_assigned(node, first)
                if value is not None:
                    return f"{code.co_filename}:{_part(value, rest).lineno}"
    return None


def _value_assigned(body: ast.ClassDef, name: str) -> Any:
    for node in (each for each in ast.walk(body) if isinstance(each, ast.Assign)):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and target.attr == name and isinstance(target.value, ast.Name):
                return node.value
    return None


def _part(value: Any, rest: str) -> Any:
    """`2` of `Sequential(a, b, c)`: its third argument, where none of them is unpacked."""
    number = rest.partition(".")[0]
    if not number.isdigit() or not isinstance(value, ast.Call) or any(isinstance(each, ast.Starred) for each in value.args):
        return value
    return value.args[int(number)] if int(number) < len(value.args) else value


# --- tf.data sets ---


def find_pipelines(probe: Probe, traceback: Optional[TracebackType]) -> list[dict[str, Any]]:
    """Those in the hands of what failed: in the frames of the traceback, the innermost first; then the ones that ran."""
    if "tensorflow" not in sys.modules:
        return []
    rows: list[dict[str, Any]] = []
    seen: set[int] = set()
    for dataset in _datasets(traceback):
        if id(dataset) not in seen and len(rows) < MAX_PIPELINES:
            seen.add(id(dataset))
            look = partial(tf_pipeline.find_chain_with_components, dataset)
            stages = attempt(look, lambda error: [])  # one that is being made has nothing to look at yet
            rows += [{"role": "", "stages": stages}] if stages else []
    ran = [{**row, "stages": [dict(stage) for stage in row["stages"]]} for row in probe.extras.get(tf_pipeline.FOLLOWED) or []]
    rows += ran[::-1][: MAX_PIPELINES - len(rows)]
    for row in rows:
        for stage in row["stages"]:
            stage.update(read_source_at(stage.get("where")))
            file, _, line = ((stage.get("arguments") or {}).get("function_where") or "").rpartition(":")
            if file and line.isdigit():
                stage["returns"] = returned_parts.name_parts(file, int(line))
    return rows


def _datasets(traceback: Optional[TracebackType]) -> Iterator[Any]:
    places = []
    while traceback is not None:
        places.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    for frame, line in reversed(places):
        own = is_user_code(frame.f_code)
        for name, value in list(frame.f_locals.items()):
            kind = type(value)
            if not str(kind.__module__).startswith(("tensorflow.python.data", "tensorflow.python.distribute")):
                continue
            inner = getattr(value, "__dict__", {}).get("_dataset")
            dataset = inner if inner is not None else value
            text = linecache.getline(frame.f_code.co_filename, line, frame.f_globals)
            is_used = not own or re.search(rf"\b{re.escape(name)}\b", text) is not None
            if hasattr(dataset, "_inputs") and is_used:
                yield dataset


# --- source ---


def read_source_at(where: Optional[str]) -> dict[str, Any]:
    """The statement of a place, as its lines stand in the file, with the number of its first."""
    file, _, number = (where or "").rpartition(":")
    if not file or not number.isdigit():
        return {}
    line = int(number)
    tree = parse_source("".join(linecache.getlines(file)))
    found: Optional[ast.stmt] = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.stmt) and node.lineno <= line <= find_last_line(node) and not hasattr(node, "body"):
            found = node
    first, last = (found.lineno, find_last_line(found)) if found is not None else (line, line)
    numbers = range(first, min(last, first + MAX_STATEMENT - 1) + 1)
    return {"first": first, "source": [linecache.getline(file, each).rstrip() for each in numbers]}
