"""Weights that are kept as NumPy arrays, in an .npz or in a pickle, are read; and nothing in a pickle is run."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unstall.base.errors import InvalidInputError
from unstall.detectors.weights.formats.numpy_files import VGG16_CHANNELS, VGG16_LAYERS
from unstall.detectors.weights.importer import import_file
from unstall.detectors.weights.reader import read

ARRAYS = {
    "conv1.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
    "bn1.running_mean": np.array([0.5, -1.5], np.float64),
    "bn1.count": np.array(7, np.int64),
    "fc.half": np.array([[1.5, -2.0], [3.0, 4.0]], np.float16).T,  # by columns
    "fc.big": np.array([1.0, 2.0], ">f4"),
}


def pickled(path: Path, what: Any, protocol: int = 4) -> Path:
    path.write_bytes(pickle.dumps(what, protocol))
    return path


def same(path: Path, expected: dict[str, Any]) -> None:
    found = read(path)
    assert found.written_by == "NumPy"
    assert set(found.tensors) == set(expected)
    for name, stored in found.tensors.items():
        assert stored.shape == expected[name].shape
        np.testing.assert_array_equal(stored.read(), expected[name])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("make", [dict, OrderedDict])
def test_a_pickled_dictionary_of_arrays_is_read(make: Any, protocol: int, tmp_path: Path) -> None:
    same(pickled(tmp_path / "a.pkl", make(ARRAYS), protocol), ARRAYS)


def test_as_numpy_1_names_itself_too(tmp_path: Path) -> None:
    written = pickle.dumps(ARRAYS, 2)
    (tmp_path / "a.pkl").write_bytes(written.replace(b"numpy._core", b"numpy.core"))
    same(tmp_path / "a.pkl", ARRAYS)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_is_read_by_the_names_of_its_entries(save: Any, tmp_path: Path) -> None:
    save(tmp_path / "a.npz", **ARRAYS)
    same(tmp_path / "a.npz", ARRAYS)


def test_a_vgg_of_flax_becomes_that_of_torchvision(tmp_path: Path) -> None:
    sides = (3, *VGG16_CHANNELS)
    rng = np.random.default_rng(0)
    tree = {
        f"Conv_{number}": {
            "kernel": rng.random((3, 3, sides[number], sides[number + 1]), np.float32),
            "bias": np.zeros(sides[number + 1], np.float32),
        }
        for number in range(13)
    }
    other = {"Conv_0": {"kernel": np.zeros((1, 1, 64, 1), np.float32)}}
    imported = import_file(pickled(tmp_path / "a.ckpt", {"VGG16_0": tree, "Linear_0": other}), classes=3)
    assert (imported.description.variant, imported.fit.what, len(imported.fit.taken)) == ("ssd300_vgg16", "a VGG", 26)
    assert list(imported.fit.left_out) == ["Linear_0.Conv_0.kernel"]
    arrays = imported.arrays()
    for number, layer in enumerate(VGG16_LAYERS):
        ours = f"backbone.features.{layer}.weight" if layer < 23 else f"backbone.extra.0.{layer - 23}.weight"
        np.testing.assert_array_equal(arrays[ours], tree[f"Conv_{number}"]["kernel"].transpose(3, 2, 0, 1))


class Harm:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("harmed"),)


def test_what_a_pickle_would_call_is_not_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = read(pickled(tmp_path / "a.pkl", {**ARRAYS, "more": Harm()}))
    assert set(found.tensors) == set(ARRAYS)
    with pytest.raises(InvalidInputError, match=r"It refers to 'pathlib.*Nothing of it was run"):
        read(pickled(tmp_path / "b.pkl", {"more": Harm()}))
    assert not (tmp_path / "harmed").exists()


def npz(name: str, array: Any, cut: int = 0) -> bytes:
    entry, out = io.BytesIO(), io.BytesIO()
    np.save(entry, array, allow_pickle=True)
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, entry.getvalue()[: -cut or None])
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (pickle.dumps({"a.b": np.array([Path()], object)}), "An array is not described as NumPy does"),
        (pickle.dumps({"a.b": np.array(["x"])}), r"It has an array of the kind 'U1'\. Expected one of: f8, f4"),
        (pickle.dumps(ARRAYS, 2)[:-40], "Its pickle is damaged or cut off"),
        (pickle.dumps({"a.b": np.zeros(2, np.float32)}, 2).replace(b"K\x02\x85", b"K\x03\x85"), "has 8 bytes; expected 12"),
        (pickle.dumps([1, 2], 4), r"no checkpoint that torch\.save wrote, and no dictionary of NumPy arrays"),
        (npz("a.npy", np.array([{}], object)), r"The array 'a\.npy' holds 'object'"),
        (npz("a.npy", np.zeros(4, np.float32), cut=4), r"'a\.npy' of shape \(4\) has 12 bytes; expected 16"),
        (npz("a.npy", np.zeros(4, np.float32))[:-30], "Its zip is damaged or cut off"),
        (b"\x93NUMPY\x01\x00v\x00", r"one NumPy array; .* are an \.npz"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
        (b"<!DOCTYPE html><html></html>", "It is a web page"),
    ],
)
def test_what_holds_no_tensors_or_is_damaged_is_refused_with_its_reason(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InvalidInputError, match=said):
        read(tmp_path / "a")
