"""Checkpoints that PyTorch wrote: the zip of today, the row of pickles that it wrote before version 1.6; and a pickle by itself.

Most of torchvision's published files are of the older kind. A pickle by itself is how scripts of JAX keep a dictionary of NumPy
arrays. Nothing of any is run, and no PyTorch is needed.
"""

from __future__ import annotations

import math
import os
import struct
import zipfile
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from unstall.detectors.weights.formats import unpickler
from unstall.detectors.weights.formats.unpickler import Name, Plain, Storage, TensorView
from unstall.detectors.weights.tensors import (
    MAX_TENSORS,
    SIZES,
    Array,
    StoredTensor,
    Tensors,
    Unreadable,
    format_value,
    from_bytes,
)

MAX_PICKLE_BYTES = 64 * 2**20  # what describes the tensors; that of a large model has 100 kB
MAX_NUMPY_BYTES = 4 * 2**30  # of a pickle that holds its numbers itself
MAGIC = 0x1950A86A20F9469CFC6C
LEGACY_VERSION = 1001
MAX_DEPTH = 4  # of dictionaries in dictionaries
# Where scripts keep the weights themselves; what else there is may be a moving average, or another network.
PREFERRED = ("model", "state_dict", "model_state_dict", "net", "network", "module", "weights")
KINDS = {dict: "a dictionary without tensors", list: "a list", tuple: "a list", int: "a number", float: "a number", str: "a text"}


# --- the zip ---


class TorchContents(NamedTuple):
    tensors: Tensors
    notes: tuple[str, ...]  # what a user should know
    written_by: str = "PyTorch"


def read_zip(path: Path) -> TorchContents:
    passed: list[Name] = []
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {info.filename: info for info in archive.infolist()}
            described = [name for name in entries if name == "data.pkl" or name.endswith("/data.pkl")]
            if len(described) != 1:
                raise Unreadable("It is a zip, but holds no data.pkl as torch.save writes it.")
            prefix = described[0].removesuffix("data.pkl")
            top = unpickler.load(BytesIO(_entry(archive, entries[described[0]], MAX_PICKLE_BYTES)), passed=passed)
            order = entries.get(f"{prefix}byteorder")
            is_little = order is None or _entry(archive, order, 100).strip() != b"big"
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError, struct.error) as error:
        raise Unreadable(f"Its zip is damaged or cut off: {error}.") from None

    def raw(storage: Storage) -> bytes:
        info = entries.get(f"{prefix}data/{storage.key}")
        size = storage.length * SIZES[storage.kind]
        if info is None or info.file_size != size:
            there = "nothing" if info is None else f"{info.file_size:,} bytes"
            raise Unreadable(f"The storage '{format_value(storage.key)}' has {there}; the pickle says {size:,} bytes.")
        try:
            with zipfile.ZipFile(path) as archive:
                return _entry(archive, info, size)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError, struct.error) as error:
            raise Unreadable(f"Its zip is damaged: the storage '{format_value(storage.key)}': {error}.") from None

    def check(storage: Storage) -> None:
        info = entries.get(f"{prefix}data/{storage.key}")
        if info is None or info.file_size != storage.length * SIZES[storage.kind]:
            raw(storage)

    return _tensors(top, passed, check, lambda storage: from_bytes(raw(storage), storage.kind, is_little))


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """torch.save compresses nothing, so that an entry is never larger than the file that it lies in: no bomb to defuse."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise Unreadable(f"The entry '{format_value(info.filename)}' is compressed. torch.save writes entries as they are.")
    if info.file_size > most or info.file_size != info.compress_size:
        raise Unreadable(
            f"The entry '{format_value(info.filename)}' says it has {info.file_size:,} bytes; expected at most {most:,}."
        )
    return archive.read(info)


# --- the row of pickles ---


def read_legacy(path: Path) -> TorchContents:
    passed: list[Name] = []
    with path.open("rb") as file:
        first = unpickler.load(_Head(file, MAX_NUMPY_BYTES), passed=passed)
        if isinstance(first, dict):  # as pickle.dump writes a dictionary of arrays
            return _tensors(first, passed, _nowhere, _nowhere)._replace(written_by="NumPy")
        bounded = _Head(file, MAX_PICKLE_BYTES)
        if first != MAGIC or unpickler.load(bounded) != LEGACY_VERSION:
            if passed:
                raise unpickler.describe_refusal(passed[0])
            raise Unreadable("It is a pickle, but no checkpoint that torch.save wrote, and no dictionary of NumPy arrays.")
        system = unpickler.load(bounded)
        is_little = not isinstance(system, dict) or system.get("little_endian", True) is True
        storages: dict[str, Storage] = {}
        top, keys = unpickler.load(bounded, storages, passed), unpickler.load(bounded)
        places = _places(file, keys, storages)

    def check(storage: Storage) -> None:
        if storage.key not in places:
            raise Unreadable(f"The storage '{format_value(storage.key)}' is not in the file.")

    def raw(storage: Storage) -> Array:
        with path.open("rb") as again:
            again.seek(places[storage.key])
            read = again.read(storage.length * SIZES[storage.kind])
        return from_bytes(read, storage.kind, is_little)

    return _tensors(top, passed, check, raw)


class _Head:
    """The first bytes of a file, to be read piece by piece: what reads a pickle must not be led to the end of a large file."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self.file, self.left = file, most

    def read(self, count: int, /) -> bytes:
        return self._counted(self.file.read(min(self.left, max(0, count))))

    def readline(self) -> bytes:
        return self._counted(self.file.readline(min(self.left, 2**16)))

    def tell(self) -> int:
        return self.file.tell()

    def _counted(self, piece: bytes) -> bytes:
        self.left -= len(piece)
        return piece


def _places(file: IO[bytes], keys: Any, storages: dict[str, Storage]) -> dict[str, int]:
    """Where the numbers of each storage begin: each is preceded by how many they are."""
    size = os.fstat(file.fileno()).st_size
    places = {}
    for key in keys if isinstance(keys, list) else ():
        storage = storages.get(str(key)) if isinstance(key, str | int) else None
        if storage is None:
            raise Unreadable(f"It lists the storage '{format_value(key)}', which nothing in it uses.")
        head = file.read(8)
        begin = file.tell()
        count = int.from_bytes(head, "little", signed=True) if len(head) == 8 else -1
        end = begin + storage.length * SIZES[storage.kind]
        if count != storage.length or end > size:
            raise Unreadable(f"It is damaged or cut off at byte {begin:,}, in the storage '{format_value(storage.key)}'.")
        places[storage.key] = begin
        file.seek(end)
    return places


# --- both ---


def _flat(top: Any) -> dict[str, TensorView | Plain]:
    """All tensors, by the path of keys that leads to each."""
    result: dict[str, TensorView | Plain] = {}
    waiting: list[tuple[str, Any, int]] = [("", top, 0)]
    seen = 0
    while waiting:
        before, value, depth = waiting.pop()
        for key, inner in value.items() if isinstance(value, dict) else ():
            seen += 1
            if isinstance(inner, TensorView | Plain):
                result[f"{before}{key}"] = inner
            elif isinstance(inner, dict) and depth < MAX_DEPTH:
                waiting.append((f"{before}{key}.", inner, depth + 1))
            if seen > MAX_TENSORS:  # a dictionary may hold another many times over
                raise Unreadable(f"It has more than {MAX_TENSORS:,} tensors and other entries.")
    return result


def _tensors(top: Any, passed: list[Name], check: Any, numbers: Any) -> TorchContents:
    weights, notes = _weights_in(top)
    placed = _flat(weights)
    if not placed and passed:
        raise unpickler.describe_refusal(passed[0])
    if not placed:
        received = "a single tensor" if isinstance(top, TensorView | Plain) else KINDS.get(type(top), "something else")
        raise Unreadable(f"It holds no dictionary of tensors. Received: {received}.")
    return TorchContents({name: _stored(name, tensor, check, numbers) for name, tensor in placed.items()}, notes)


def _nowhere(storage: Storage) -> Array:
    raise Unreadable(f"The storage '{format_value(storage.key)}' is not in the file.")


def _stored(name: str, tensor: TensorView | Plain, check: Any, numbers: Any) -> StoredTensor:
    if isinstance(tensor, Plain):
        return tensor.stored()
    check(tensor.storage)
    _refuse_outside(name, tensor)
    return StoredTensor(tensor.shape, tensor.storage.kind, partial(_values, tensor, numbers))


def _weights_in(top: Any) -> tuple[Any, tuple[str, ...]]:
    """Training scripts save the weights beside the optimizer's state and more, and some a moving average of them."""
    found = _dictionaries_of_weights(top)
    if "" in found or not isinstance(top, dict):
        return top, ()
    if not found:
        return next((top[key] for key in PREFERRED if isinstance(top.get(key), dict)), top), ()
    chosen = min(found, key=lambda key: PREFERRED.index(key) if key in PREFERRED else len(PREFERRED))
    others = ", ".join(f"'{format_value(key)}'" for key in found if key != chosen)
    return found[chosen], (
        f"it holds several sets of weights: '{format_value(chosen)}' was taken, not {others}",
    ) if others else ()


def _dictionaries_of_weights(top: Any) -> dict[str, Any]:
    """By the path of keys that leads to each: those with tensors whose names have a dot, as those of layers have."""
    found: dict[str, Any] = {}
    waiting: list[tuple[str, Any, int]] = [("", top, 0)]
    seen: set[int] = set()
    while waiting:
        path, value, depth = waiting.pop(0)
        if not isinstance(value, dict) or id(value) in seen or depth > MAX_DEPTH:
            continue
        seen.add(id(value))
        if any(isinstance(inner, TensorView | Plain) and "." in str(key) for key, inner in value.items()):
            found[path] = value
            continue
        waiting += [(f"{path}.{key}".lstrip("."), inner, depth + 1) for key, inner in value.items() if isinstance(inner, dict)]
    return found


def _refuse_outside(name: str, tensor: TensorView) -> None:
    count = math.prod(tensor.shape)
    last = tensor.offset + sum(max(0, side - 1) * stride for side, stride in zip(tensor.shape, tensor.strides, strict=True))
    if count > tensor.storage.length or (count and last >= tensor.storage.length):
        raise Unreadable(
            f"The tensor '{format_value(name)}' of shape {format_value(tensor.shape)} reaches beyond its storage, "
            f"which has {tensor.storage.length:,} numbers."
        )


def _values(tensor: TensorView, numbers: Any) -> Array:
    row: Array = numbers(tensor.storage)
    strides = [stride * row.itemsize for stride in tensor.strides]
    view = np.lib.stride_tricks.as_strided(row[tensor.offset :], tensor.shape, strides, writeable=False)
    return np.ascontiguousarray(view).reshape(tensor.shape)
