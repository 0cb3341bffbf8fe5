"""A file of records: as it comes, or as the message within right lengths and checksums; the first byte says which."""

from __future__ import annotations

import io
from pathlib import Path

from fuzz.reading import read
from unstall.data.io import record_features, tfrecord_file

MESSAGE = record_features.encode_example(
    {
        "image/encoded": [b"GIF89a\x40\x00\x30\x00\x00\x00\x00"],
        "image/format": [b"gif"],
        "image/filename": [b"a.gif"],
        "image/height": [48],
        "image/width": [64],
        **{f"image/object/bbox/{edge}": [0.25, 0.5] for edge in ("xmin", "ymin", "xmax", "ymax")},
        "image/object/class/label": [1, 2],
        "image/object/class/text": [b"cat", b"dog"],
        "image/object/difficult": [0, 1],
    }
)


def _framed(data: bytes) -> bytes:
    out = io.BytesIO()
    tfrecord_file.write(out, data)
    return out.getvalue()


SEEDS = (
    b"\0" + _framed(MESSAGE),
    b"\0" + _framed(MESSAGE) + _framed(b""),
    b"\1" + MESSAGE,
    b"\1" + MESSAGE + MESSAGE,
    b"\0\x1f\x8b\x08",
)
TOKENS = (
    *(
        b"image/encoded",
        b"image/object/bbox/xmin",
        b"image/object/class/label",
        b"image/object/class/text",
        b"image/height",
        b"\x0a",
        b"\x12",
    ),
    *(
        b"\x1a",
        b"\x08",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\0\0\0\0",
        b"\x00\x00\xc0\x7f",
        b"\x80\x80\x80\x80\x08",
        b"cat",
        b"\xff",
    ),
)


def one(data: bytes, folder: Path) -> None:
    is_framed = bool(data) and data[0] % 2 == 1
    (folder / "a.record").write_bytes(_framed(data[1:]) if is_framed else data[1:])
    (folder / "labels.pbtxt").unlink(missing_ok=True)
    if data and data[0] & 2:
        (folder / "labels.pbtxt").write_bytes(b"item { id: 1 name: 'cat' }")
    read("tfrecord", folder)
