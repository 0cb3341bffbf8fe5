"""Puts a wrapper around a method or function of a framework, once, keeping its name, signature and identity marks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from unstall.inside.places import hide_ours

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "_unstall_original"
HOOK = "_unstall_hook"


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
    """Replaces owner.name by make(original). False if there is no such name, or this hook is on it already.

    Several hooks may lie around one method, the newest outermost.
    """
    original = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
    hook = f"{make.__module__}.{make.__qualname__}"
    if original is None or isinstance(original, (staticmethod, classmethod, property)) or hook in _hooks_on(original):
        return False
    named = functools.wraps(original)  # both: an error about arguments names the function that was called
    wrapper = named(unseen(named(make(original))))
    setattr(wrapper, MARK, original)
    setattr(wrapper, HOOK, hook)
    setattr(owner, name, wrapper)
    return True


def unseen(hook: Function) -> Function:
    """The same, but an error that passes through it shows no frame of ours: the program may catch and print it.

    A bare `raise` adds no frame, and since Python 3.11 hands on the traceback that the error has by then. In an older one the
    frames stay where the program catches an error itself.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except BaseException as error:
            hide_ours(error)
            raise

    return call  # type: ignore[return-value]


def _hooks_on(function: Any) -> list[str]:
    hooks = []
    while hasattr(function, MARK):
        hooks.append(getattr(function, HOOK, ""))
        function = getattr(function, MARK)
    return hooks


def unwrap(owner: Any, name: str) -> None:
    wrapper = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
    original = getattr(wrapper, MARK, None)
    if original is not None:
        setattr(owner, name, original)
