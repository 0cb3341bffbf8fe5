"""How much the entries of a container take, by a look at the newest few; and in one word what they are.

Only attributes of frameworks' own types are read: an attribute of the program's own might run its code.
"""

from __future__ import annotations

import sys
from collections import deque
from itertools import islice
from typing import Any, Optional

from unstall.inside.keras_names import is_of_keras

SAMPLED = 12
DEEPEST = 3
WIDEST = 16
_BUILTIN = (int, float, complex, bool, str, bytes, bytearray, type(None))


def newest(container: Any, grown: int) -> tuple[str, Optional[int]]:
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
