"""The known name that a mistyped one probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.6  # how alike two names must be, as difflib measures it: 0 to 1


def find_closest_names(name: str, known: Iterable[str], count: int, cutoff: float = CUTOFF) -> list[str]:
    """The most similar one first; empty where none is similar."""
    return difflib.get_close_matches(name, list(known), n=count, cutoff=cutoff)


def find_closest_name(name: str, known: Iterable[str], cutoff: float = CUTOFF) -> str:
    """Empty where none is similar."""
    return next(iter(find_closest_names(name, known, 1, cutoff)), "")


def suggest_closest(name: str, known: Iterable[str], cutoff: float = CUTOFF) -> str:
    """A sentence to append to an error message, with the space before it: " Did you mean 'epochs'?". Empty where none is near."""
    near = find_closest_name(name, known, cutoff)
    return f" Did you mean '{near}'?" if near else ""
