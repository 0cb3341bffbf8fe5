"""Losses that can be read without waiting: those of steps that the device has finished.

JAX runs tens of steps behind Python and can tell which values are there; the other frameworks cannot, and there a loss that is
one step old is taken to be.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Optional

from unstall.probe.core.step_counter import as_number
from unstall.probe.loop.traces import TracedFunction

MAX_KEPT = 64  # scalars


def is_ready(value: Any) -> bool:
    tells = getattr(value, "is_ready", None)
    return bool(tells()) if callable(tells) else True


def newest_ready(values: Any) -> Optional[int]:
    """Index of the newest value but one that is there; of the only one, if there is only one."""
    for index in range(max(0, len(values) - 2), -1, -1):
        if is_ready(values[index]):
            return index
    return None


class RecentLosses:
    def __init__(self) -> None:
        self._kept: deque[Any] = deque(maxlen=MAX_KEPT)

    def clear(self) -> None:
        self._kept.clear()

    def add(self, loss: Any) -> None:
        self._kept.append(loss)

    def read(self) -> tuple[Optional[float], int]:
        """The newest that can be read without waiting, and how many steps ago it was made."""
        index = newest_ready(self._kept) if self._kept else None
        if index is None:
            return None, 0
        return as_number(self._kept[index]), len(self._kept) - 1 - index


# The loss among what a step gave back.


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
