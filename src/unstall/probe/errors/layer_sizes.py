"""From which size of the model's input the tensors of a failing line come: the sides on the way, and how strides divided them.

Keras keeps of a symbolic tensor which layer made it, and from which others. That is read when the error is there; nothing is run.
"""

from __future__ import annotations

from types import FrameType
from typing import TYPE_CHECKING, Any, Optional

from unstall.probe.core.user_code import is_of_keras, is_user_code

MAX_TENSORS = 4000  # of a model that is walked through
MAX_STARTS = 12
MAX_SIDES = 16
if TYPE_CHECKING:  # Python 3.8 cannot make this when it runs
    _Sides = tuple[int, ...]


def find_sizes(frames: list[FrameType]) -> list[dict[str, Any]]:
    """Of the images in the innermost function of the program's own: the way on which strides divide the sides most. `frames`
    outermost first."""
    own = [frame for frame in frames if is_user_code(frame.f_code)]
    tensors = [value for value in list(own[-1].f_locals.values()) if _sides(value)] if own else []
    ways = [way for way in map(_way_from_input, tensors[:MAX_STARTS]) if way]
    return [_describe(max(ways, key=_divided))] if ways else []


def _describe(way: list[Any]) -> dict[str, Any]:
    """From the input to the smallest sides."""
    sides: list[list[int]] = []
    for tensor in way:
        if list(_sides(tensor)) not in sides[-1:]:
            sides.append(list(_sides(tensor)))
    down = sides[: sides.index(min(sides)) + 1]
    name = str(getattr(_maker(way[0])[0], "name", ""))
    return {"what": "sizes", "name": name, "sides": down[:MAX_SIDES], "stride": _divided(way)}


def _way_from_input(tensor: Any) -> Optional[list[Any]]:
    """The tensors from an input to this one. Where branches meet, the one whose sides were divided most."""
    ways: dict[int, list[Any]] = {}
    waiting, count = [tensor], 0
    while waiting and count < MAX_TENSORS:
        count += 1
        current = waiting[-1]
        given = [each for each in _given_to(current) if _sides(each)]
        open_ones = [each for each in given if id(each) not in ways]
        if open_ones:
            waiting.extend(open_ones)
            continue
        waiting.pop()
        before = max((ways[id(each)] for each in given), key=_divided, default=[])
        ways[id(current)] = [*before, current]
    return ways.get(id(tensor))


def _divided(way: list[Any]) -> int:
    """The product of the strides that make the sides smaller."""
    product = 1
    for before, after in zip(way, way[1:]):  # noqa: B905, RUF007 - neither is in Python 3.7
        if _sides(after)[0] < _sides(before)[0]:
            product *= _stride(_maker(after)[0])
    return product


def _stride(layer: Any) -> int:
    """Of a convolution or a pooling; 1 of a layer that cuts off or resizes."""
    held = getattr(layer, "__dict__", {})
    for name in ("strides", "pool_size"):
        value = held.get(name)
        first = value[0] if isinstance(value, (tuple, list)) and value else value
        if type(first) is int and first > 0:
            return first
    return 1


def _maker(tensor: Any) -> tuple[Any, Any]:
    """The layer that made it, and the node of that layer: `operation` in Keras 3, `layer` before."""
    history = getattr(tensor, "_keras_history", None)
    layer = getattr(history, "operation", None) or getattr(history, "layer", None)
    nodes = getattr(layer, "_inbound_nodes", None) or []
    at = getattr(history, "node_index", -1)
    return layer, nodes[at] if type(at) is int and 0 <= at < len(nodes) else None


def _given_to(tensor: Any) -> list[Any]:
    node = _maker(tensor)[1]
    given = getattr(node, "input_tensors", None) if hasattr(node, "input_tensors") else getattr(node, "keras_inputs", None)
    listed = given if isinstance(given, (list, tuple)) else [given]
    return [each for each in listed if each is not None and each is not tensor]


def _sides(tensor: Any) -> _Sides:
    """Height and width of a batch of images whose channels stand last; empty for anything else, and where they are not known."""
    if not is_of_keras(type(tensor)) or not hasattr(tensor, "_keras_history"):
        return ()
    shape = tuple(getattr(tensor, "shape", ()))
    sides = shape[1:3] if len(shape) == 4 else ()
    return sides if len(sides) == 2 and all(type(side) is int and side > 0 for side in sides) else ()
