"""Files of NumPy arrays: `.npz`, each entry an array, by the name of its tensor.

Only numbers are read: an array of objects, which is a pickle, is refused.
"""

from __future__ import annotations

import math
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np

from unstall.detectors.weights.tensors import (
    MAX_TENSORS,
    SIZES,
    Array,
    StoredTensor,
    Tensors,
    Unreadable,
    format_value,
    parse_shape,
)

SUFFIX = ".npy"
MAX_BYTES = 4 * 2**30  # of all arrays of a file, which may be compressed
DAMAGED = (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError, SyntaxError)


def is_npz(names: list[str]) -> bool:
    return bool(names) and all(name.endswith(SUFFIX) for name in names)


def read_npz(path: Path) -> Tensors:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_TENSORS or sum(info.file_size for info in entries) > MAX_BYTES:
                raise Unreadable(f"Its arrays have more than {MAX_BYTES:,} bytes, or are more than {MAX_TENSORS:,}.")
            return {info.filename.removesuffix(SUFFIX): _described(archive, info, path) for info in entries}
    except DAMAGED as error:
        raise Unreadable(f"Its zip is damaged or cut off: {str(error)[:160]}.") from None


def _described(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> StoredTensor:
    with archive.open(info) as entry:
        shape, _, kind = _header(entry)
        begins = entry.tell()
    name = format_value(info.filename)
    if kind.hasobject or kind.name not in SIZES:
        raise Unreadable(
            f"The array '{name}' holds '{format_value(str(kind))}'. Expected numbers of the kinds {', '.join(SIZES)}."
        )
    expected = math.prod(parse_shape(shape, f"the shape of '{name}'")) * kind.itemsize
    if info.file_size - begins != expected:
        raise Unreadable(
            f"The array '{name}' of shape {format_value(shape)} has {info.file_size - begins:,} bytes; expected {expected:,}."
        )
    return StoredTensor(shape, kind.name, partial(_values, path, info))


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
        raise Unreadable(f"Its zip is damaged: the array '{format_value(info.filename)}': {str(error)[:160]}.") from None


# Weights of Flax, whose convolutions are numbered as they are made: a VGG-16 in torchvision's names and layout.


VGG16_LAYERS = (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28)  # in torchvision's `features`
VGG16_CHANNELS = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)


def translate_keys(tensors: Tensors) -> Tensors:
    """As they are, where no thirteen convolutions in a row are those of a VGG-16."""
    convolutions: dict[str, dict[int, dict[str, str]]] = {}  # by what their names begin with, by number and part
    for name in tensors:
        found = re.fullmatch(r"(.*?)Conv_(\d{1,3})\.(kernel|bias)", name)
        if found:
            convolutions.setdefault(found[1], {}).setdefault(int(found[2]), {})[found[3]] = name
    chosen = next((numbered for numbered in convolutions.values() if _are_vgg16(numbered, tensors)), None)
    if chosen is None:
        return tensors
    used = {name for parts in chosen.values() for name in parts.values()}
    result = {name: stored for name, stored in tensors.items() if name not in used}
    for number, layer in enumerate(VGG16_LAYERS):
        kernel, bias = tensors[chosen[number]["kernel"]], tensors[chosen[number]["bias"]]
        height, width, inputs, outputs = kernel.shape
        shape = (outputs, inputs, height, width)
        result[f"features.{layer}.weight"] = StoredTensor(shape, kernel.kind, partial(_turned, kernel))
        result[f"features.{layer}.bias"] = bias
    return result


def _are_vgg16(numbered: dict[int, dict[str, str]], tensors: Tensors) -> bool:
    if set(numbered) != set(range(13)) or any(len(parts) != 2 for parts in numbered.values()):
        return False
    inputs = (3, *VGG16_CHANNELS)
    return all(tensors[parts["kernel"]].shape == (3, 3, inputs[number], inputs[number + 1]) for number, parts in numbered.items())


def _turned(kernel: StoredTensor) -> Array:
    """Height, width, inputs, outputs become outputs, inputs, height, width."""
    return np.ascontiguousarray(kernel.read().transpose(3, 2, 0, 1))
