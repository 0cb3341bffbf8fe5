"""A value of the program as plain data: its type, sizes, dtype, range, or a short text.

No code of the program's own is called: of an object of a class that is not known, only the names of its classes are read, and its
type is asked for by `type`, since an object may claim another. What lies on a device stays there, and of an array in host memory
a sample is looked at.
"""

from __future__ import annotations

import math
import re
import sys
import time
from types import FrameType, FunctionType, MethodType
from typing import Any, Optional

from unstall.base.errors import attempt
from unstall.base.redact.text import MASK, is_secret_name, redact, register_variables
from unstall.probe.core.user_code import find_code_place
from unstall.probe.input import batch_shapes, batch_stats

MAX_TEXT = 120
MAX_ITEMS = 6
MAX_SHAPES = 256  # elements of a list whose shapes are read
MAX_DEPTH = 2
MAX_ELEMENTS = 262_144  # of an array, for its range
MAX_DISTINCT = 4096  # elements of an array of whole numbers, for which of them there are
MAX_BITS = 256  # of a whole number that is written out
_PLAIN = (bool, int, float, complex, type(None), range, slice, type(Ellipsis))
# Libraries whose attributes are read. A class that derives from theirs, and is not theirs, is the program's own.
_KNOWN = ("numpy", "tensorflow", "keras", "tf_keras", "torch", "jax", "jaxlib", "pandas", "PIL", "tensorflow_core", "torchvision")
# What a layer was made with, as far as it keeps it as a plain attribute.
_OPTIONS = (
    "in_features", "out_features", "in_channels", "out_channels", "num_features", "num_embeddings", "embedding_dim",
    "normalized_shape", "kernel_size", "stride", "strides", "padding", "units", "filters", "input_dim", "output_dim", "axis",
    "data_format", "target_shape", "pool_size", "rate", "batch_first", "input_size", "hidden_size", "groups",
)  # fmt: skip


def describe_value(value: Any, until: float, depth: int = 0) -> dict[str, Any]:
    """`until` is a moment of the monotonic clock after which no array is looked at any more."""
    facts: dict[str, Any] = {"type": name_type(value)}
    if issubclass(type(value), str):
        return {**facts, "text": repr(str.__str__(value)[:MAX_TEXT]), "length": str.__len__(value)}
    if type(value) in _PLAIN:
        is_long = type(value) is int and value.bit_length() > MAX_BITS
        return facts if is_long else {**facts, "text": repr(value)[:MAX_TEXT]}
    if issubclass(type(value), (bytes, bytearray)):
        return {**facts, "length": len(value)}
    if issubclass(type(value), (list, tuple, set, frozenset)):
        return {**facts, **_sequence(value, until, depth)}
    if issubclass(type(value), dict):
        return {**facts, **_dict(value, until, depth)}
    if type(value).__module__ == "pathlib" or type(value).__module__.startswith("pathlib."):
        return {**facts, "text": repr(str(value)[:MAX_TEXT])}
    if issubclass(type(value), type):
        return {**facts, "called": type.__getattribute__(value, "__qualname__")}
    if type(value) in (FunctionType, MethodType):
        return {**facts, "called": value.__qualname__, "where": find_code_place(value)}
    if type(value).__module__.startswith("torch.utils.data") and type(value).__name__ == "DataLoader":
        return {**facts, **_of_loader(value)}
    nothing: dict[str, Any] = {}  # whatever a framework's own object does not like to be asked: its type is known
    return {**facts, **attempt(lambda: _of_a_library(value, until), lambda error: nothing)}


def describe_named(name: str, value: Any, until: float, depth: int = 0) -> dict[str, Any]:
    """The same of what stands under a name. Of a secret it is only told that it is there."""
    if has_secret(name, value):
        register_variables({name: str.__str__(value)})  # it may stand in the message of the error, too
        return {"type": name_type(value), "text": MASK}
    facts = describe_value(value, until, depth)
    if is_secret_name(name):
        facts.pop("items", None)
    return facts


def has_secret(name: str, value: Any) -> bool:
    if not issubclass(type(value), str):
        return False
    text = str.__str__(value)
    return bool(text) and (is_secret_name(name) or redact({name: text}) == {name: MASK})


def name_type(value: Any) -> str:
    kind = type(value)
    module = kind.__module__
    return kind.__qualname__ if module == "builtins" else f"{module.partition('.')[0]}.{kind.__qualname__}"


def is_known(kind: type) -> bool:
    """Whether a class comes from a library whose attributes may be read."""
    return str(kind.__module__).partition(".")[0] in _KNOWN


def _sequence(value: Any, until: float, depth: int) -> dict[str, Any]:
    kind: Any = next(each for each in (list, tuple, set, frozenset) if issubclass(type(value), each))
    facts: dict[str, Any] = {"length": kind.__len__(value)}
    if depth >= MAX_DEPTH or kind in (set, frozenset):
        return facts
    first = [kind.__getitem__(value, at) for at in range(min(MAX_ITEMS, facts["length"]))]
    facts["items"] = [describe_value(item, until, depth + 1) for item in first]
    fields = getattr(type(value), "_fields", None)
    if type(fields) is tuple:
        facts["fields"] = [str(field) for field in fields[:MAX_ITEMS]]
    elements = [kind.__getitem__(value, at) for at in range(min(MAX_SHAPES, facts["length"]))]
    shapes = [
        _nested_shape(element, MAX_DEPTH, until) if type(element) in (list, tuple) else read_shape(element)
        for element in elements
    ]
    if len(shapes) > 1 and all(shape is not None for shape in shapes):
        facts["shapes"] = _different(shapes)
    return facts


def _nested_shape(value: Any, depth: int, until: float) -> Optional[list[int]]:
    """Of a list of numbers, or of lists of as many numbers each: the shape of the array that it would make."""
    if type(value) not in (list, tuple) or not value or depth < 0 or time.monotonic() > until:
        return None
    if all(type(each) in (int, float, bool) for each in value[:MAX_SHAPES]):
        return [len(value)]
    inner = [_nested_shape(each, depth - 1, until) for each in value[:MAX_SHAPES]]
    first = inner[0]
    return [len(value), *first] if first is not None and all(each == first for each in inner) else None


def _different(shapes: list[Any]) -> list[dict[str, Any]]:
    """Each shape with the first element that has it, and how many have."""
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    for at, shape in enumerate(shapes):
        row = found.setdefault(tuple(shape), {"shape": list(shape), "first": at, "count": 0})
        row["count"] += 1
    return list(found.values())[: 2 * MAX_ITEMS]


def _dict(value: Any, until: float, depth: int) -> dict[str, Any]:
    facts: dict[str, Any] = {"length": dict.__len__(value)}
    keys = [key for key in list(dict.keys(value)) if type(key) in (str, int)][: 4 * MAX_ITEMS]
    facts["keys"] = [key if type(key) is int else key[:MAX_TEXT] for key in keys]
    if 0 < facts["length"] <= MAX_ELEMENTS:
        numbers = list(dict.values(value))
        if all(type(number) is int for number in numbers):
            facts["numbers"] = [min(numbers), max(numbers)]
    if depth < MAX_DEPTH:
        facts["items"] = [describe_named(str(key), dict.__getitem__(value, key), until, depth + 1) for key in keys[:MAX_ITEMS]]
    return facts


def read_shape(value: Any) -> Optional[list[int]]:
    """Of an array or tensor of a known library; None for anything else. -1: a side that is not known."""
    if not is_known(type(value)):
        return None
    return attempt(lambda: _sides(value), lambda error: None)  # one may know nothing of its shape yet, or have been given away


def _sides(value: Any) -> Optional[list[int]]:
    sides = getattr(value, "shape", None)
    if sides is None or callable(sides):
        return None
    if hasattr(sides, "as_list"):
        sides = sides.as_list() if sides.rank is not None else None
    return None if sides is None else [int(side) if isinstance(side, int) else -1 for side in sides]


def read_dtype(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    return str(getattr(dtype, "name", dtype)).replace("torch.", "").replace("<dtype: '", "").replace("'>", "")


def _of_a_library(value: Any, until: float) -> dict[str, Any]:
    kind = type(value)
    base = next((f"{each.__module__}.{each.__qualname__}" for each in kind.__mro__ if is_known(each)), "")
    facts: dict[str, Any] = {"base": base} if base else {}
    options = _layer_options(value)
    if options:
        facts["options"] = options
    name = getattr(value, "__dict__", {}).get("_name", None)
    if type(name) is str:
        facts["called"] = name[:MAX_TEXT]
    if not is_known(kind):
        return facts
    root = kind.__module__.partition(".")[0]
    if root == "numpy" and not hasattr(value, "flags"):
        return facts
    if root == "numpy" and getattr(value, "ndim", 1) == 0 and not kind.__name__.startswith("ndarray"):
        return {**facts, "text": repr(value.item())[:MAX_TEXT], "dtype": read_dtype(value), "shape": []}
    if root == "PIL":
        return {**facts, "size": list(value.size), "mode": str(value.mode)}
    if any(each.__name__ == "Model" and root in ("keras", "tf_keras", "tensorflow") for each in kind.__mro__):
        takes = attempt(lambda: value.input_shape, lambda error: None)  # not known before it is built
        is_one = type(takes) is tuple and all(side is None or type(side) is int for side in takes)
        facts.update({"takes": list(takes)} if is_one else {})
        names = attempt(lambda: value.output_names, lambda error: None)
        is_named = issubclass(type(names), (list, tuple)) and all(type(name) is str for name in names)
        return {**facts, "outputs": list(names)[: 4 * MAX_ITEMS]} if is_named and names else facts
    spec = getattr(value, "element_spec", None) if root == "tensorflow" else None
    if spec is not None:
        return {**facts, "components": batch_shapes.list_components(spec)}
    shape = read_shape(value)
    if shape is None:
        return facts
    facts["shape"] = shape
    if hasattr(value, "dtype"):
        facts["dtype"] = read_dtype(value)
    device = getattr(value, "device", None)
    if root == "torch" and device is not None:
        facts["device"] = str(device)
        facts["requires_grad"] = bool(value.requires_grad)
        if value.grad_fn is not None:
            facts["grad_fn"] = type(value.grad_fn).__name__
    facts.update(_range(value, until))
    return facts


def _of_loader(loader: Any) -> dict[str, Any]:
    """The size of its batches, and how many examples its data set has, where that is one of PyTorch's own."""
    held = getattr(loader, "__dict__", {})
    dataset, size = held.get("dataset"), held.get("batch_size")
    kept = getattr(dataset, "__dict__", {}) if is_known(type(dataset)) else {}
    rows = kept.get("indices") if "indices" in kept else (kept.get("tensors") or [None])[0]
    is_counted = issubclass(type(rows), (list, range)) or read_shape(rows)
    found = {"batch_size": size} if type(size) is int else {}
    return {**found, "examples": len(rows)} if is_counted and rows is not None else found


def _layer_options(value: Any) -> dict[str, Any]:
    """What a layer was made with: plain numbers and texts that lie in the object itself."""
    held = getattr(value, "__dict__", None)
    if type(held) is not dict or not any(each.__name__ in ("Module", "Layer") for each in type(value).__mro__):
        return {}
    found = {}
    for name in _OPTIONS:
        option = held.get(name)
        is_plain = type(option) in (int, str, float) or (type(option) is tuple and all(type(each) is int for each in option))
        if option is not None and is_plain:
            found[name] = list(option) if type(option) is tuple else option
    return found


def _range(value: Any, until: float) -> dict[str, Any]:
    if "numpy" not in sys.modules or time.monotonic() > until:
        return {}
    if type(value).__module__.startswith("jax"):
        devices = getattr(value, "devices", None)
        if devices is None or type(value).__name__ != "ArrayImpl" or any(each.platform != "cpu" for each in value.devices()):
            return {}
        value = sys.modules["numpy"].asarray(value)
    array = batch_stats.as_array(value)
    if array is None or array.size > 64 * MAX_ELEMENTS:
        return {}
    seen = batch_stats.describe("", "", array, MAX_ELEMENTS)
    facts: dict[str, Any] = {name: seen[name] for name in ("min", "max", "not_finite") if name in seen}
    if array.dtype.kind in "iu" and 0 < array.size <= MAX_DISTINCT:
        distinct = sorted(set(array.ravel().tolist()))
        facts.update({"distinct": distinct} if len(distinct) <= 2 * MAX_ITEMS else {})
    if array.size <= MAX_ITEMS and array.ndim <= 1:
        facts["text"] = repr(array.tolist())[:MAX_TEXT]
    return facts


# Losses that are not finite, in the function that ends the program with an exit code.


MAX_LOCALS = 200
_FIRST_GUESS = re.compile(r"best|min|lowest|previous|prev|last|old", re.IGNORECASE)  # such a loss may begin as infinite


def find_losses_not_finite(frame: Optional[FrameType]) -> list[str]:
    """`loss_value = nan`: numbers of Python by their names; of tensors only scalars of PyTorch in the memory of the host."""
    found = []
    for name, value in list(frame.f_locals.items())[:MAX_LOCALS] if frame is not None else ():
        if "loss" not in name.lower() or _FIRST_GUESS.search(name):
            continue
        kind = type(value)
        is_scalar = kind.__module__ == "torch" and kind.__name__ == "Tensor" and value.dim() == 0 and value.device.type == "cpu"
        number = float(value.detach()) if is_scalar else value
        if issubclass(type(number), float) and not math.isfinite(number):
            found.append(f"{name} = {float.__repr__(number)}")
    return found
