"""A safetensors file."""

from __future__ import annotations

from pathlib import Path

from fuzz.reading import said
from unstall.base.errors import InvalidInputError
from unstall.detectors.weights.description import read_description
from unstall.detectors.weights.reader import read


def _made(header: bytes, data: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header + data


SEEDS = (
    _made(
        b'{"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"v":{"dtype":"BF16","shape":[],"data_offsets":[8,10]}}',
        bytes(10),
    ),
    _made(
        b'{"__metadata__":{"unstall":"1","variant":"retinanet_tiny","settings":"{\\"classes\\": [1]}","class_names":"[]",'
        b'"holds":"detector"},'
        b'"w":{"dtype":"I64","shape":[0],"data_offsets":[0,0]}}',
        b"",
    ),
)
TOKENS = (
    b'"dtype"', b'"shape"', b'"data_offsets"', b'"__metadata__"', b'"F64"', b'"BOOL"', b'"unstall"', b'"settings"', b"[", b"]",
    b"{", b"}", b",", b":", b"-1", b"1e999", b"NaN", b"99999999999999999999", b"null", b'"\\ud800"', b"[[[[[[[[", b"\xff", b" ",
)  # fmt: skip


def one(data: bytes, folder: Path) -> None:
    (folder / "a.safetensors").write_bytes(data)
    try:
        for tensor in read(folder / "a.safetensors").tensors.values():
            assert tensor.read().shape == tensor.shape
        read_description(folder / "a.safetensors")
    except InvalidInputError as error:
        said(str(error))
