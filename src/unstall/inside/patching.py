"""Puts a wrapper around a method or function of a framework, once, keeping its name, signature and identity marks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

MARK = "_unstall_original"


def wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> bool:
    """Replaces owner.name by make(original). False if there is no such name, or it is wrapped already."""
    original = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
    if original is None or hasattr(original, MARK) or isinstance(original, (staticmethod, classmethod, property)):
        return False
    wrapper = functools.wraps(original)(make(original))
    setattr(wrapper, MARK, original)
    setattr(owner, name, wrapper)
    return True


def unwrap(owner: Any, name: str) -> None:
    wrapper = owner.__dict__.get(name) if isinstance(owner, type) else getattr(owner, name, None)
    original = getattr(wrapper, MARK, None)
    if original is not None:
        setattr(owner, name, original)
