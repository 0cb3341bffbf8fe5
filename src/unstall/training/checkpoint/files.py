"""The files of one checkpoint: the numbers in one, where they stand and how far the run was in another, and a manifest of
checksums, which is written last. A folder without its manifest, or with a single wrong byte, is no checkpoint.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from unstall.training.checkpoint.integrity import (
    ARRAYS,
    MANIFEST,
    PIECE,
    POSITION,
    VERSION,
    Damaged,
    build_manifest,
    compare_with_manifest,
)

IS_RISING = "is_rising"  # of a position: the loss rose by and by, so that an older one may be worth more
ALIGNMENT = 64  # every array begins at a multiple of this, so that it can be used where it lies

Arrays = dict[str, npt.NDArray[Any]]


def write(folder: Path, arrays: Mapping[str, npt.NDArray[Any]], position: Mapping[str, Any]) -> int:
    """Everything into a new folder, on to the disk itself; how many bytes it takes. A disk that refuses is an OSError."""
    folder.mkdir(parents=True)
    files = {ARRAYS: _write_arrays(folder / ARRAYS, arrays)}
    index = {"arrays": _places(arrays), "position": dict(position)}
    files[POSITION] = _write_file(folder / POSITION, json.dumps(index).encode())
    _write_file(folder / MANIFEST, json.dumps({"version": VERSION, "files": files}, indent=1).encode())
    sync_folder(folder)
    return sum(path.stat().st_size for path in folder.iterdir())


def read(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """The arrays, which may not be written to, and the position."""
    contents: dict[str, npt.NDArray[np.uint8]] = {}
    for name, said in build_manifest(folder).items():
        try:
            contents[name] = np.fromfile(folder / name, np.uint8)
        except OSError as error:
            raise Damaged(f"{name} cannot be read: {error.strerror}") from None
        contents[name].flags.writeable = False
        compare_with_manifest(name, said, contents[name].size, hashlib.sha256(contents[name].data).hexdigest())
    try:
        index = json.loads(contents[POSITION].tobytes())
        arrays = {each["name"]: _array(contents[ARRAYS], each) for each in index["arrays"]}
        return arrays, index["position"]
    except (KeyError, TypeError, ValueError) as error:  # of another version, with proper checksums
        raise Damaged(f"{POSITION} is not as this version writes it: {error!r}") from None


def is_rising(folder: Path) -> bool:
    """Whether it says of itself that the loss rose; nothing else is read, nor verified."""
    try:
        return bool(json.loads((folder / POSITION).read_bytes())["position"].get(IS_RISING))
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        return False


def sync_folder(folder: Path) -> None:
    """That a name is in a folder is on the disk only when the folder is."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


# --- writing ---


def _write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    with path.open("wb", buffering=0) as file:
        hashed = _HashingFile(file)
        for name, array in arrays.items():
            if array.dtype.kind not in "biufc":
                raise TypeError(f"'{name}': expected numbers. Received: {array.dtype}")
            hashed.write(bytes(-hashed.length % ALIGNMENT))
            hashed.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        os.fsync(file.fileno())
    return hashed.summary


def _write_file(path: Path, raw: bytes) -> dict[str, Any]:
    with path.open("wb", buffering=0) as file:
        hashed = _HashingFile(file)
        hashed.write(raw)
        os.fsync(file.fileno())
    return hashed.summary


class _HashingFile:
    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._digest, self.length = file, hashlib.sha256(), 0

    def write(self, raw: bytes | memoryview) -> None:
        for piece in _pieces(memoryview(raw)):
            self._digest.update(piece)
            done = 0
            while done < len(piece):  # a file without a buffer may take less than it is given
                done += self._file.write(piece[done:])
            self.length += len(piece)

    @property
    def summary(self) -> dict[str, Any]:
        return {"bytes": self.length, "sha256": self._digest.hexdigest()}


def _pieces(raw: memoryview) -> Iterator[memoryview]:
    return (raw[begin : begin + PIECE] for begin in range(0, len(raw), PIECE))


def _places(arrays: Mapping[str, npt.NDArray[Any]]) -> list[dict[str, Any]]:
    places, offset = [], 0
    for name, array in arrays.items():
        offset += -offset % ALIGNMENT
        places.append({"name": name, "kind": array.dtype.str, "shape": list(array.shape), "offset": offset})
        offset += array.nbytes
    return places


# --- reading ---


def _array(raw: npt.NDArray[np.uint8], place: dict[str, Any]) -> npt.NDArray[Any]:
    kind, shape = np.dtype(place["kind"]), tuple(place["shape"])
    length = math.prod(shape) * kind.itemsize
    array: npt.NDArray[Any] = raw[place["offset"] : place["offset"] + length].view(kind).reshape(shape)
    return array
