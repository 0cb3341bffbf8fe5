"""Losses that can be read without waiting: those of steps that the device has finished.

JAX runs tens of steps behind Python and can tell which values are there; the other frameworks cannot, and there a loss that is
one step old is taken to be.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Optional

from unstall.inside.steps import as_number

MOST_KEPT = 64  # scalars


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
        self._kept: deque[Any] = deque(maxlen=MOST_KEPT)

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
