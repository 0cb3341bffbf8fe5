"""An attribute that does not keep its value alive: what the program lets go must go, whatever we looked at."""

from __future__ import annotations

import weakref
from typing import Any, Optional


class Weak:
    """class Probe: model = Weak(). Reading gives the object, or None once it is gone."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._slot = f"{name} (weak)"

    def __get__(self, instance: Any, owner: Optional[type] = None) -> Any:
        reference = instance.__dict__.get(self._slot) if instance is not None else None
        return reference() if reference is not None else None

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._slot] = None if value is None else weakref.ref(value)
