"""What is wrapped answers questions about its arguments as before."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from unstall.probe.core.patches import wrap


class Layer:
    def __init__(self, units: int, *, name: str = "") -> None:
        self.units, self.name = units, name


def pass_on(original: Callable[..., Any]) -> Callable[..., Any]:
    def __init__(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs)

    return __init__


def test_a_wrapped_function_has_the_arguments_of_the_original() -> None:
    class Resize(Layer):
        """Keras asks a class without an `__init__` of its own for the arguments of the one that it inherits."""

    before = inspect.getfullargspec(Layer.__init__)
    assert wrap(Layer, "__init__", pass_on)
    assert inspect.getfullargspec(Resize.__init__) == before
    assert inspect.getfullargspec(Resize.__init__).args == ["self", "units"]
    assert Resize(3, name="resize").units == 3
