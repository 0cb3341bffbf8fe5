"""The loss among what a step gave back."""

from __future__ import annotations

from typing import Any, Optional

from unstall.inside.traces import TracedFunction

_NONE = object()


def loss_in(result: Any, record: TracedFunction) -> Any:
    """The scalar that a step gave back: the one called a loss, else the first. Where it stands is found once."""
    result = of_first_replica(result)
    if record.loss_path is None:
        found = find_scalar(result)
        record.loss_path = found if found is not None else (_NONE,)
    try:
        for key in record.loss_path:
            if key is _NONE:
                return None
            result = of_first_replica(result[key])
    except (KeyError, IndexError, TypeError):
        record.loss_path = None  # it gives back something else this time
        return None
    return result


def is_float_scalar(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    is_float = getattr(dtype, "is_floating", None)  # of TensorFlow; NumPy and JAX have a kind
    return getattr(value, "shape", None) == () and bool(getattr(dtype, "kind", "") == "f" if is_float is None else is_float)


def find_scalar(result: Any) -> Optional[tuple[Any, ...]]:
    """The way to it through dicts, lists and tuples: the total loss before others."""
    result = of_first_replica(result)
    if isinstance(result, dict):
        parts = sorted(result.items(), key=lambda item: ("loss" not in str(item[0]), "total" not in str(item[0])))
    elif isinstance(result, (list, tuple)):
        parts = list(enumerate(result))
    else:
        return () if isinstance(result, float) or is_float_scalar(result) else None
    for key, value in parts:
        found = find_scalar(value)
        if found is not None:
            return (key, *found)
    return None


def of_first_replica(value: Any) -> Any:
    """What a distribution strategy holds for each of its replicas, by that of the first; anything else as it is."""
    return value.values[0] if type(value).__name__ == "PerReplica" and value.values else value
