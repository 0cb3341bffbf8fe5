"""A tensor in a file: its shape is known at once, its values are read when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
MAX_TENSORS = 100_000  # of a file; a detector has a few hundred
MAX_DIMENSIONS = 8

# What files call the kinds of numbers, and how many bytes one takes. NumPy has no bfloat16: its bits are read as integers.
SIZES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
    "bool": 1,
}  # fmt: skip


class Unreadable(Exception):
    """What is wrong with a file. Never leaves `reading.read`, which adds the file's name."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    shape: tuple[int, ...]
    kind: str  # a key of SIZES
    read: Callable[[], Array]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.count * SIZES[self.kind]

    @classmethod
    def of(cls, array: Array) -> StoredTensor:
        return cls(array.shape, array.dtype.name, lambda: array)


Tensors = Mapping[str, StoredTensor]


def from_bytes(raw: bytes | memoryview, kind: str, is_little: bool = True) -> Array:
    """One row of numbers; bfloat16 as float32, which holds each of its values."""
    stored = np.dtype("uint16" if kind == "bfloat16" else kind).newbyteorder("<" if is_little else ">")
    numbers: Array = np.frombuffer(raw, stored).astype(stored.newbyteorder("="))
    return (numbers.astype(np.uint32) << 16).view(np.float32) if kind == "bfloat16" else numbers


def parse_shape(value: object, where: str) -> tuple[int, ...]:
    """A shape as a file gives it, if it is one."""
    is_shape = isinstance(value, list | tuple) and all(type(side) is int and 0 <= side < 2**48 for side in value)
    if not is_shape or len(value) > MAX_DIMENSIONS:  # type: ignore[arg-type]
        raise Unreadable(f"{where}: expected a shape of at most {MAX_DIMENSIONS} whole numbers. Received: {format_value(value)}")
    return tuple(value)  # type: ignore[arg-type]


def format_value(value: object) -> str:
    """A value from a stranger's file in a message. What is nested is not printed: it may be larger printed than in the file."""
    if isinstance(value, list | tuple) and all(isinstance(each, str | int | float) for each in value[:MAX_DIMENSIONS]):
        return (
            "(" + ", ".join(str(each)[:40] for each in value[:MAX_DIMENSIONS]) + (", …)" if len(value) > MAX_DIMENSIONS else ")")
        )
    if isinstance(value, str):
        return ascii(value)[1:-1][:80]
    return str(value)[:80] if isinstance(value, int | float | None) else type(value).__name__
