"""Classes of a weights file and those of the data, by their names: another order would give each class the outputs of another.

The same classes come in other orders by nature: by id in COCO, by the alphabet in Pascal VOC, by number in YOLO.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unstall.base.formatting import format_count
from unstall.detectors.weights.names import CLASS_OUTPUTS
from unstall.detectors.weights.tensors import Array

BOX_NUMBERS = 4  # that Faster R-CNN's second stage gives for each class


def order_of(in_file: Sequence[str], wanted: Sequence[str]) -> list[int | None] | None:
    """For each class that is wanted, its number in the file; None for one that is not there. None altogether where names are
    unknown, or say nothing new."""
    theirs, ours = ([name.strip().lower() for name in names] for names in (in_file, wanted))
    are_named = theirs and not all(name.isdecimal() for name in ours)
    if not are_named or len(theirs) != len(ours) or theirs == ours or len(set(theirs)) < len(theirs):
        return None
    return [theirs.index(name) if name in theirs else None for name in ours]


def describe_order(order: Sequence[int | None], wanted: Sequence[str]) -> str:
    fresh = [name for name, number in zip(wanted, order, strict=True) if number is None]
    if not fresh:
        return "its classes are in another order: each is taken by its name"
    shown = ", ".join(fresh[:3]) + (" …" if len(fresh) > 3 else "")
    known = format_count(len(order) - len(fresh), "class", "classes")
    return f"its classes have other names: {known} taken by name, {len(fresh):,} begin fresh: {shown}"


def in_order(key: str, taken: Array, fresh: Array, order: Sequence[int | None]) -> Array:
    """Of an output that has rows for each class, in PyTorch's layout: those of the file, where it has the class. The background
    is the first."""
    if not CLASS_OUTPUTS.fullmatch(key):
        return taken
    known = [(0, 0), *((place + 1, number + 1) for place, number in enumerate(order) if number is not None)]
    to, source = (list(each) for each in zip(*known, strict=True))
    per_class = BOX_NUMBERS if "bbox_pred" in key else 1
    rows = (-1, len(order) + 1, per_class, *taken.shape[1:])
    result = np.array(fresh, np.float32).reshape(rows)
    result[:, to] = np.asarray(taken, np.float32).reshape(rows)[:, source]
    return result.reshape(taken.shape)
