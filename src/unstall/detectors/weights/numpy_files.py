"""Files of NumPy arrays: `.npz`, each entry an array, by the name of its tensor.

Only numbers are read: an array of objects, which is a pickle, is refused.
"""

from __future__ import annotations

import math
import zipfile
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from unstall.detectors.weights.stored import MOST_TENSORS, SIZES, Array, Stored, Tensors, Unreadable, shape_of, shown

ENDING = ".npy"
MOST_BYTES = 4 * 2**30  # of all arrays of a file, which may be compressed
DAMAGED = (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError, SyntaxError)


def is_npz(names: list[str]) -> bool:
    return bool(names) and all(name.endswith(ENDING) for name in names)


def read_npz(path: Path) -> Tensors:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_TENSORS or sum(info.file_size for info in entries) > MOST_BYTES:
                raise Unreadable(f"Its arrays have more than {MOST_BYTES:,} bytes, or are more than {MOST_TENSORS:,}.")
            return {info.filename.removesuffix(ENDING): _described(archive, info, path) for info in entries}
    except DAMAGED as error:
        raise Unreadable(f"Its zip is damaged or cut off: {str(error)[:160]}.") from None


def _described(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Stored:
    with archive.open(info) as entry:
        shape, _, kind = _header(entry)
        begins = entry.tell()
    name = shown(info.filename)
    if kind.hasobject or kind.name not in SIZES:
        raise Unreadable(f"The array '{name}' holds '{shown(str(kind))}'. Expected numbers of the kinds {', '.join(SIZES)}.")
    expected = math.prod(shape_of(shape, f"the shape of '{name}'")) * kind.itemsize
    if info.file_size - begins != expected:
        raise Unreadable(
            f"The array '{name}' of shape {shown(shape)} has {info.file_size - begins:,} bytes; expected {expected:,}."
        )
    return Stored(shape, kind.name, partial(_values, path, info))


def _header(entry: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    version = np.lib.format.read_magic(entry)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, kind = read(entry)
    return shape, is_fortran, kind


def _values(path: Path, info: zipfile.ZipInfo) -> Array:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(info) as entry:
            shape, is_fortran, kind = _header(entry)
            row = np.frombuffer(entry.read(), kind).astype(kind.newbyteorder("="))
            return np.ascontiguousarray(row.reshape(shape, order="F" if is_fortran else "C"))
    except DAMAGED as error:
        raise Unreadable(f"Its zip is damaged: the array '{shown(info.filename)}': {str(error)[:160]}.") from None
