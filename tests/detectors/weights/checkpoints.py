"""Checkpoints as PyTorch writes them, byte by byte: no PyTorch is needed to make one, nor to make one that lies."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

KINDS = {"float32": "FloatStorage", "float16": "HalfStorage", "float64": "DoubleStorage", "int64": "LongStorage"}
END = b"."


# --- the steps of a pickle ---


def text(value: str) -> bytes:
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def whole(value: int) -> bytes:
    return b"J" + struct.pack("<i", value) if abs(value) < 2**31 else b"\x8a\x09" + value.to_bytes(9, "little", signed=True)


def name(dotted: str) -> bytes:
    module, _, last = dotted.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def sequence(*items: bytes) -> bytes:
    return b"(" + b"".join(items) + b"t"


def wholes(values: Sequence[int]) -> bytes:
    return sequence(*map(whole, values))


def called(dotted: str, *arguments: bytes) -> bytes:
    return name(dotted) + sequence(*arguments) + b"R"


def mapping(items: Mapping[str, bytes]) -> bytes:
    return b"}(" + b"".join(text(key) + value for key, value in items.items()) + b"u"


def storage(key: str, count: int, kind: str = "FloatStorage", is_legacy: bool = False) -> bytes:
    described = [text("storage"), name(f"torch.{kind}"), text(key), text("cpu"), whole(count)]
    return sequence(*described, *([b"N"] if is_legacy else [])) + b"Q"


def tensor(
    key: str,
    count: int,
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    offset: int = 0,
    kind: str = "FloatStorage",
    is_legacy: bool = False,
) -> bytes:
    if strides is None:
        strides = [int(np.prod(shape[place + 1 :])) for place in range(len(shape))]
    hooks = name("collections.OrderedDict") + b")R"
    parts = (storage(key, count, kind, is_legacy), whole(offset), wholes(shape), wholes(strides), b"\x89", hooks)
    return called("torch._utils._rebuild_tensor_v2", *parts)


# --- files ---


def zipped(path: Path, pickle: bytes, storages: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + pickle + END)
        archive.writestr("archive/version", b"3\n")
        for key, raw in storages.items():
            archive.writestr(f"archive/data/{key}", raw)
    return path


def checkpoint(path: Path, arrays: Mapping[str, np.ndarray], nested: str | None = None, prefix: str = "") -> Path:
    """As torch.save writes a dictionary of tensors today."""
    described, storages = {}, {}
    for number, (key, array) in enumerate(arrays.items()):
        described[prefix + key] = tensor(str(number), array.size, array.shape, kind=KINDS[array.dtype.name])
        storages[str(number)] = array.tobytes()
    pickle = mapping(described)
    return zipped(path, mapping({nested: pickle}) if nested else pickle, storages)


def legacy(path: Path, arrays: Mapping[str, np.ndarray]) -> Path:
    """As torch.save wrote before version 1.6: five pickles in a row, then the numbers."""
    out = io.BytesIO()
    system = b"}(" + text("protocol_version") + whole(1001) + text("little_endian") + b"\x88" + b"u"
    magic = b"\x8a\x0a" + (0x1950A86A20F9469CFC6C).to_bytes(10, "little")
    described = {
        key: tensor(str(number), array.size, array.shape, kind=KINDS[array.dtype.name], is_legacy=True)
        for number, (key, array) in enumerate(arrays.items())
    }
    keys = b"](" + b"".join(text(str(number)) for number in range(len(arrays))) + b"e"
    for pickle in (magic, whole(1001), system, mapping(described), keys):
        out.write(b"\x80\x02" + pickle + END)
    for array in arrays.values():
        out.write(struct.pack("<q", array.size) + array.tobytes())
    path.write_bytes(out.getvalue())
    return path
