"""The pickle of a checkpoint of PyTorch, in the zip that it lies in; and a whole file of the older kind."""

from __future__ import annotations

import zipfile
from pathlib import Path

from fuzz.reading import said
from unstall.base.errors import InvalidInputError
from unstall.detectors.weights.reader import read

_TENSOR = (
    b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
    b"K\x00(K\x02K\x02t(K\x02K\x01t\x89ccollections\nOrderedDict\n)RtR"
)
_ARRAY = (  # of two numbers, as NumPy writes it
    b"cnumpy._core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85C\x01btR(K\x01K\x02\x85cnumpy\ndtype\n(X\x02\x00\x00\x00f4\x89\x88tR"
    b"(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89C\x08" + bytes(8) + b"tb"
)
_OLD = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}."
SEEDS = (
    b"\x80\x02}q\x00(X\x01\x00\x00\x00wq\x01" + _TENSOR + b"q\x02X\x01\x00\x00\x00vh\x02u.",
    b"\x80\x02}X\x05\x00\x00\x00modelccollections\nOrderedDict\n)R(X\x01\x00\x00\x00w"
    + _TENSOR
    + b"u}(X\x01\x00\x00\x00aK\x01ubs.",
    b"\x80\x02}X\x01\x00\x00\x00w" + _ARRAY + b"s.",
    b"\x80\x02cos\nsystem\n(X\x04\x00\x00\x00truetR.",
    _OLD + b"\x80\x02}X\x01\x00\x00\x00w" + _TENSOR + b"s.\x80\x02]X\x01\x00\x00\x000a." + b"\x04" + bytes(7) + bytes(16),
)
TOKENS = (
    _ARRAY,
    _TENSOR, _OLD, b"\x80\x02", b"\x80\x04\x95", b".", b"(", b")", b"t", b"\x85", b"\x86", b"\x87", b"}", b"]", b"u", b"s", b"e",
    b"a", b"R", b"b", b"Q", b"q\x00", b"h\x00", b"r\x00\x00\x00\x00", b"\x94", b"N", b"\x88", b"K\xff", b"J\xff\xff\xff\xff",
    b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00", b"\x8c\x02os\x8c\x06system\x93", b"cos\nsystem\n", b"ctorch\nFloatStorage\n",
    b"ccollections\nOrderedDict\n", b"X\x05\x00\x00\x00model", b"X\xff\xff\xff\xff", b"I1\n", b"L1L\n", b"0", b"1", b"2",
)  # fmt: skip


def one(data: bytes, folder: Path) -> None:
    """As the pickle in a zip, and as a file by itself."""
    with zipfile.ZipFile(folder / "a.pth", "w") as archive:
        archive.writestr("a/data.pkl", data)
        archive.writestr("a/data/0", bytes(16))
    (folder / "b.pth").write_bytes(data)
    for name in ("a.pth", "b.pth"):
        try:
            for tensor in read(folder / name).tensors.values():
                assert tensor.read().shape == tensor.shape
        except InvalidInputError as error:
            said(str(error))
