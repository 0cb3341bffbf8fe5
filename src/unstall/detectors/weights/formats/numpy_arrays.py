"""Arrays of NumPy as a pickle describes them, from which no NumPy is asked to make anything but a row of numbers.

A pickle calls `_reconstruct` for an empty array and then gives it its state: shape, kind of numbers, order and bytes. Here both
are written down, and checked before the bytes are read as numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from unstall.detectors.weights.tensors import SIZES, Array, StoredTensor, Unreadable, format_value, from_bytes, shape_of

CODES = {
    "f8": "float64", "f4": "float32", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8", "u1": "uint8",
    "b1": "bool",
}  # fmt: skip


class Kind:
    """Of numbers: `numpy.dtype('f4')`, and then the order of its bytes."""

    def __init__(self, code: Any = None, *_: Any) -> None:
        self.code = code
        self.is_little = True

    def build(self, state: Any) -> None:
        self.is_little = not (isinstance(state, tuple) and len(state) > 1 and state[1] == ">")

    @property
    def name(self) -> str:
        code = self.code.decode("latin-1") if isinstance(self.code, bytes) else self.code
        bare = code.lstrip("<>|=") if isinstance(code, str) else ""
        if bare not in CODES:
            raise Unreadable(f"It has an array of the kind '{format_value(code)}'. Expected one of: {', '.join(CODES)}.")
        return CODES[bare]


class Plain:
    """An array, written out in the pickle itself."""

    def __init__(self) -> None:
        self.shape: tuple[int, ...] = ()
        self._kind, self._raw, self._is_fortran = Kind(), b"", False

    def build(self, state: Any) -> None:
        if not isinstance(state, tuple) or len(state) != 5:
            raise Unreadable("An array is not described as NumPy does: expected version, shape, kind, order and bytes.")
        _, shape, kind, is_fortran, raw = state
        self._fill(shape, kind, is_fortran is True, raw)

    def _fill(self, shape: Any, kind: Any, is_fortran: bool, raw: Any) -> None:
        self.shape = shape_of(shape, "an array's shape")
        if not isinstance(kind, Kind) or not isinstance(raw, bytes | bytearray):
            raise Unreadable("An array is not described as NumPy does: expected its numbers as bytes, of a kind of numbers.")
        expected = math.prod(self.shape) * SIZES[kind.name]
        if len(raw) != expected:
            raise Unreadable(f"An array of shape {format_value(self.shape)} has {len(raw):,} bytes; expected {expected:,}.")
        self._kind, self._raw, self._is_fortran = kind, bytes(raw), is_fortran

    def stored(self) -> StoredTensor:
        return StoredTensor(self.shape, self._kind.name, self._read)

    def _read(self) -> Array:
        row = from_bytes(self._raw, self._kind.name, self._kind.is_little)
        return np.ascontiguousarray(row.reshape(self.shape, order="F" if self._is_fortran else "C"))


def reconstruct(*_: Any) -> Plain:
    """Empty: its state comes behind it."""
    return Plain()


def from_buffer(raw: Any = b"", kind: Any = None, shape: Any = (), order: Any = "C", *_: Any) -> Plain:
    """As protocol 5 writes it, all at once."""
    array = Plain()
    array._fill(shape, kind, order == "F", raw)
    return array


def encode_latin1(text: Any = "", coding: Any = "", *_: Any) -> bytes:
    """Bytes as protocol 2 writes them: as text of the first 256 characters."""
    if not isinstance(text, str) or coding not in {"latin1", "latin-1"}:
        raise Unreadable("It has bytes that are written as no version of Python does.")
    return text.encode("latin-1")
