"""Safetensors files: what is written is read, and what lies is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unstall.base.errors import InvalidInputError
from unstall.detectors.weights.formats import safetensors_files
from unstall.detectors.weights.reader import read


def made(path: Path, header: Any, data: bytes = b"", length: int | None = None) -> Path:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(raw) if length is None else length).to_bytes(8, "little") + raw + data)
    return path


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=20).filter(lambda name: name != "__metadata__"),
        hnp.arrays(
            st.sampled_from([np.float32, np.float64, np.float16, np.int64, np.uint8]),
            hnp.array_shapes(min_dims=0, max_dims=4, min_side=0),
        ),
        max_size=5,
    ),
    st.dictionaries(st.text(max_size=8), st.text(max_size=20), max_size=3),
)
def test_what_is_written_is_read(tmp_path_factory, arrays: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("tensors") / "a.safetensors"
    safetensors_files.write(path, arrays, metadata)
    found = read(path)
    assert found.metadata == metadata
    assert set(found.tensors) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found.tensors[name].read(), array)
        assert found.tensors[name].shape == array.shape and found.tensors[name].kind == array.dtype.name


def test_bfloat16_is_read_as_float32(tmp_path: Path) -> None:
    header = {"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    path = made(tmp_path / "a.safetensors", header, b"\x80\x3f\x20\xc0")
    np.testing.assert_array_equal(read(path).tensors["w"].read(), np.array([1.0, -2.5], np.float32))


def test_a_header_whose_length_looks_like_a_pickle_is_none(tmp_path: Path) -> None:
    raw = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path = made(tmp_path / "a.safetensors", raw + b" " * (0x0280 - len(raw)), bytes(4))
    assert path.read_bytes()[:2] == b"\x80\x02"
    assert list(read(path).tensors) == ["w"]


def test_a_file_that_stood_there_stays_where_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    safetensors_files.write(path, {"w": np.ones(2, np.float32)}, {})
    with pytest.raises(KeyError):
        safetensors_files.write(path, {"w": np.ones(2, np.complex64)}, {})
    np.testing.assert_array_equal(read(path).tensors["w"].read(), [1, 1])
    assert list(tmp_path.iterdir()) == [path]


F32 = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"w": {**F32, "shape": [3]}}, "needs 12 bytes, and has 8"),
        ({"w": {**F32, "data_offsets": [0, 16]}}, "may be cut off"),
        ({"w": {**F32, "data_offsets": [8, 0]}}, "may be cut off"),
        ({"w": {**F32, "data_offsets": [-8, 0]}}, "may be cut off"),
        ({"w": {**F32, "data_offsets": [0]}}, "two data_offsets"),
        ({"w": {**F32, "data_offsets": [0, "8"]}}, "two data_offsets"),
        ({"w": {**F32, "dtype": "F8_E5M2"}}, "expected a dtype"),
        ({"w": {**F32, "dtype": ["F32"]}}, "expected a dtype"),
        ({"w": {**F32, "shape": [2**60, 2**60]}}, "expected a shape"),
        ({"w": {**F32, "shape": [-1, -2]}}, "expected a shape"),
        ({"w": {**F32, "shape": "2"}}, "expected a shape"),
        ({"w": {**F32, "shape": [1] * 20}}, "expected a shape"),
        ({"w": {**F32, "shape": [[[2]]]}}, "expected a shape"),
        ({"w": 3}, "expected a dtype"),
        ({"__metadata__": {"a": 1}}, "expected texts"),
        (b'{"w": 1, "w": 2}', "a name twice"),
        (b"{" + b'"a":[' * 100_000, "no JSON"),
        (b"{" + b" " * 50, "no JSON"),
        (b"{\xff}", "no JSON"),
    ],
)
def test_a_header_that_lies_is_refused(header: Any, said: str, tmp_path: Path) -> None:
    path = made(tmp_path / "a.safetensors", header, bytes(8))
    with pytest.raises(InvalidInputError, match=said) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("length", [2**63, 2**40, 10_000, 1])
def test_a_header_longer_than_its_file_is_refused(length: int, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="Its header would have"):
        read(made(tmp_path / "a.safetensors", {"w": F32}, bytes(8), length))
