"""Unstall: why a TensorFlow or Keras training hangs, starves, dies or learns nothing.

The whole public surface, sorted. Importing it loads no framework and nothing heavy.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of `typing` would load it: nothing is loaded that the program may have a file of the same name for

__version__ = "0.1.0"
__all__ = ["Guard", "__version__", "watch"]

if TYPE_CHECKING:
    from typing import Any

    from unstall.probe.guard import Guard
    from unstall.probe.watch import watch

_HOMES = {"Guard": "unstall.probe.guard", "watch": "unstall.probe.watch"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unstall' has no attribute {name!r}. Public names: {', '.join(__all__)}")
    from unstall.probe.core.stdlib_imports import OwnImports

    with OwnImports():
        home = __import__(_HOMES[name], fromlist=[name])
    return getattr(home, name)
