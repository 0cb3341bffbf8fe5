"""A number with its noun, as a person would say it."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, one: str, many: str = "") -> str:
    """'1 class', '1,200 classes'."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def rate(value: float) -> str:
    """'1,200', '37', '0.4': a small one is never nothing."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def data_set_holds(images: int, boxes: int, classes: int) -> str:
    """'364 images, 4,888 boxes, 3 classes'."""
    return ", ".join((counted(images, "image"), counted(boxes, "box", "boxes"), counted(classes, "class", "classes")))


# Names of classes in a line: they come from the data, may be long and hold anything.


SHOWN, MAX_LETTERS = 8, 30


def short(name: str) -> str:
    plain = "".join(each if each.isprintable() else "·" for each in name)
    return plain if len(plain) <= MAX_LETTERS else f"{plain[:MAX_LETTERS]}…"


def some(classes: Sequence[str]) -> str:
    """'cat, dog', 'a, b, c, d, e, f, g, h and 72 more', 'none'."""
    more = f" and {len(classes) - SHOWN:,} more" if len(classes) > SHOWN else ""
    return ", ".join(map(short, classes[:SHOWN])) + more if classes else "none"
