"""A number with its noun, as a person would say it."""

from __future__ import annotations


def counted(count: int, one: str, many: str = "") -> str:
    """'1 class', '1,200 classes'."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def rate(value: float) -> str:
    """'1,200', '37', '0.4': a small one is never nothing."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def data_set_holds(images: int, boxes: int, classes: int) -> str:
    """'364 images, 4,888 boxes, 3 classes'."""
    return ", ".join((counted(images, "image"), counted(boxes, "box", "boxes"), counted(classes, "class", "classes")))
