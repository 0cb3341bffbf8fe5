"""The safetensors format: the length of a header, the header as JSON, then the numbers.

Read and written here rather than by the package of that name: it is as short as this, NumPy gets bfloat16 too, and what is wrong
with a file is said in our words.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from unstall.detectors.weights.tensors import (
    MAX_TENSORS,
    SIZES,
    Array,
    StoredTensor,
    Tensors,
    Unreadable,
    format_value,
    from_bytes,
    parse_shape,
)

MAX_HEADER_BYTES = 64 * 2**20
KINDS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "I16": "int16",
    "I8": "int8", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
CODES = {kind: code for code, kind in KINDS.items()}
METADATA = "__metadata__"


def read(path: Path) -> tuple[Tensors, dict[str, str]]:
    """The tensors, and what the file says of itself."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(MAX_HEADER_BYTES, size - 8):
            raise Unreadable(
                f"Its header would have {length:,} bytes; the file has {size:,}, and a header at most {MAX_HEADER_BYTES:,}."
            )
        header = _parsed(file.read(length))
    begin, room = 8 + length, size - 8 - length
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Unreadable(f"Its header: expected texts in {METADATA}.")
    if len(header) > MAX_TENSORS:
        raise Unreadable(f"It has {len(header):,} tensors; at most {MAX_TENSORS:,} are read.")
    return {name: _stored(path, name, entry, begin, room) for name, entry in header.items()}, metadata


def _parsed(raw: bytes) -> dict[str, Any]:
    def without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            raise Unreadable("Its header has a name twice.")
        return result

    try:
        header = json.loads(raw, object_pairs_hook=without_twins)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"Its header is no JSON: {str(error)[:120]}.") from None
    if not isinstance(header, dict):
        raise Unreadable(f"Its header: expected an object. Received: {type(header).__name__}.")
    return header


def _stored(path: Path, name: str, entry: Any, begin: int, room: int) -> StoredTensor:
    where = f"The tensor '{format_value(name)}'"
    code = entry.get("dtype") if isinstance(entry, dict) else None
    if not isinstance(code, str) or code not in KINDS:
        received = format_value(code) if isinstance(entry, dict) else type(entry).__name__
        raise Unreadable(f"{where}: expected a dtype of {', '.join(KINDS)}. Received: {received}")
    kind, shape = KINDS[code], parse_shape(entry.get("shape"), where)
    offsets = entry.get("data_offsets")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(offset) is int for offset in offsets):
        raise Unreadable(f"{where}: expected two data_offsets. Received: {format_value(offsets)}")
    first, last = offsets
    if not 0 <= first <= last <= room:
        raise Unreadable(
            f"{where} lies at bytes {format_value(offsets)}; the file has {room:,} behind its header. It may be cut off."
        )
    if last - first != math.prod(shape) * SIZES[kind]:
        raise Unreadable(
            f"{where}: shape {format_value(shape)} of {kind} needs {math.prod(shape) * SIZES[kind]:,} bytes, "
            f"and has {last - first:,}."
        )
    return StoredTensor(shape, kind, partial(_values, path, begin + first, last - first, kind, shape))


def _values(path: Path, begin: int, length: int, kind: str, shape: tuple[int, ...]) -> Array:
    with path.open("rb") as file:
        file.seek(begin)
        return from_bytes(file.read(length), kind).reshape(shape)


def write(path: Path, arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Written aside, then renamed: what is there is whole, or what was there before."""
    header: dict[str, Any] = {METADATA: dict(metadata)}
    offset = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": CODES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    raw = json.dumps(header, ensure_ascii=True).encode("ascii")
    raw += b" " * (-len(raw) % 8)  # the numbers begin at a multiple of their size
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            file.write(len(raw).to_bytes(8, "little") + raw)
            for array in arrays.values():
                file.write(array.astype(array.dtype.newbyteorder("<")).tobytes())
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
