"""Names of classes in a line: they come from the data, may be long and hold anything."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN, MOST_LETTERS = 8, 30


def short(name: str) -> str:
    plain = "".join(each if each.isprintable() else "·" for each in name)
    return plain if len(plain) <= MOST_LETTERS else f"{plain[:MOST_LETTERS]}…"


def some(classes: Sequence[str]) -> str:
    """'cat, dog', 'a, b, c, d, e, f, g, h and 72 more', 'none'."""
    more = f" and {len(classes) - SHOWN:,} more" if len(classes) > SHOWN else ""
    return ", ".join(map(short, classes[:SHOWN])) + more if classes else "none"
