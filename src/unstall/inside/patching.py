"""Puts a wrapper around a method or function of a framework, once, keeping its name, signature and identity marks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from unstall.inside.unseen import unseen

MARK = "_unstall_original"
HOOK = "_unstall_hook"


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
    """Replaces owner.name by make(original). False if there is no such name, or this hook is on it already; or no owner: what
    another version of a framework does not have.

    Several hooks may lie around one method, the newest outermost.
    """
    if owner is None:
        return False
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
