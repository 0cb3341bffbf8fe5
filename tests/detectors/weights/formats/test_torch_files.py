"""Checkpoints of PyTorch are read without PyTorch, and nothing in them is run."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.detectors.weights.checkpoints import (
    called,
    checkpoint,
    legacy,
    mapping,
    name,
    sequence,
    storage,
    tensor,
    text,
    whole,
    wholes,
    zipped,
)
from unstall.base.errors import InvalidInputError
from unstall.detectors.weights.reader import read

ARRAYS = {
    "conv1.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
    "bn1.running_mean": np.array([0.5, -1.5], np.float64),
    "bn1.num_batches_tracked": np.array(7, np.int64),
    "half": np.array([1.5, -2.0], np.float16),
}


def values(path: Path) -> dict[str, np.ndarray]:
    return {key: stored.read() for key, stored in read(path).tensors.items()}


@pytest.mark.parametrize("make", [checkpoint, legacy])
def test_a_dictionary_of_tensors_is_read_with_its_shapes_and_kinds(make, tmp_path: Path) -> None:
    path = make(tmp_path / "a.pth", ARRAYS)
    stored = read(path)
    assert stored.written_by == "PyTorch"
    assert {key: (each.shape, each.kind) for key, each in stored.tensors.items()} == {
        key: (array.shape, array.dtype.name) for key, array in ARRAYS.items()
    }
    for key, array in values(path).items():
        np.testing.assert_array_equal(array, ARRAYS[key])


@pytest.mark.parametrize("nested", ["model", "state_dict"])
def test_weights_beside_other_things_are_found(nested: str, tmp_path: Path) -> None:
    assert set(values(checkpoint(tmp_path / "a.pth", ARRAYS, nested=nested))) == set(ARRAYS)


def test_a_training_script_may_have_saved_its_arguments_and_optimizer_too(tmp_path: Path) -> None:
    weights = mapping({"w": tensor("0", 2, (2,))})
    arguments = name("argparse.Namespace") + b")R" + mapping({"lr": whole(1)}) + b"b"
    optimizer = mapping({"state": mapping({"m": tensor("1", 1, (1,))})})
    pickle = mapping({"model": weights, "optimizer": optimizer, "args": arguments, "epoch": whole(3)})
    path = zipped(tmp_path / "a.pth", pickle, {"0": np.array([1, 2], np.float32).tobytes(), "1": bytes(4)})
    np.testing.assert_array_equal(values(path)["w"], [1, 2])
    assert set(values(path)) == {"w"}


def test_what_a_script_saved_beside_the_weights_is_passed_over_and_never_made(tmp_path: Path) -> None:
    """torchvision's own reference scripts save their arguments; others a best score of NumPy, a set, a class of their own."""
    import argparse
    import pickle

    beside = {
        "args": argparse.Namespace(lr=0.1, data="here"),
        "best": np.float64(0.5),
        "seen": {1, 2},
        "table": np.arange(3),
        "path": Path("a/b"),
        "ratio": 1.5,
        "large": 2**70,
    }
    weights = mapping({"layer.weight": tensor("0", 2, (2,))})
    others = {key: pickle.dumps(value, protocol=2)[2:-1] for key, value in beside.items()}  # the one that torch.save takes
    path = zipped(tmp_path / "a.pth", mapping({**others, "model": weights}), {"0": bytes(8)})
    assert set(values(path)) == {"layer.weight"}


def test_of_several_sets_of_weights_the_model_s_own_is_taken_and_the_others_are_said(tmp_path: Path) -> None:
    own, averaged = (mapping({"layer.weight": tensor(key, 1, (1,))}) for key in "01")
    storages = {"0": np.array([1], np.float32).tobytes(), "1": np.array([2], np.float32).tobytes()}
    path = zipped(tmp_path / "a.pth", mapping({"model_ema": averaged, "model": own}), storages)
    assert values(path)["layer.weight"] == 1
    assert read(path).notes == ("it holds several sets of weights: 'model' was taken, not 'model_ema'",)
    path = zipped(tmp_path / "b.pth", mapping({"best": mapping({"ema": averaged}), "epoch": whole(1)}), storages)
    assert values(path)["layer.weight"] == 2 and read(path).notes == ()


def test_strides_offsets_and_shared_storages(tmp_path: Path) -> None:
    numbers = np.arange(12, dtype=np.float32)
    pickle = mapping(
        {
            "whole": tensor("0", 12, (3, 4)),
            "turned": tensor("0", 12, (4, 3), strides=(1, 4)),
            "part": tensor("0", 12, (2, 2), strides=(4, 1), offset=5),
            "one": tensor("0", 12, (), offset=11),
            "none": tensor("0", 12, (0, 5)),
        }
    )
    found = values(zipped(tmp_path / "a.pth", pickle, {"0": numbers.tobytes()}))
    grid = numbers.reshape(3, 4)
    for key, expected in {
        "whole": grid,
        "turned": grid.T,
        "part": grid[1:, 1:3],
        "one": numbers[11],
        "none": np.zeros((0, 5)),
    }.items():
        np.testing.assert_array_equal(found[key], expected)
        assert found[key].shape == expected.shape


def test_bfloat16_is_read_as_float32(tmp_path: Path) -> None:
    numbers = np.array([1.0, -2.5, 3.140625], np.float32)
    raw = (numbers.view(np.uint32) >> 16).astype("<u2").tobytes()
    path = zipped(tmp_path / "a.pth", mapping({"w": tensor("0", 3, (3,), kind="BFloat16Storage")}), {"0": raw})
    assert read(path).tensors["w"].kind == "bfloat16"
    np.testing.assert_array_equal(values(path)["w"], numbers)


def test_a_big_endian_file_gives_the_same_numbers(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.pth", mapping({"w": tensor("0", 2, (2,))}), {"0": np.array([1, 2], ">f4").tobytes()})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("archive/byteorder", b"big")
    np.testing.assert_array_equal(values(path)["w"], [1, 2])


# --- files that mean harm, or are damaged ---


def refused(path: Path) -> str:
    with pytest.raises(InvalidInputError) as caught:
        values(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("called_name", ["os.system", "posix.system", "builtins.eval", "subprocess.Popen", "torch.load"])
def test_a_pickle_that_would_run_something_is_refused_by_name(called_name: str, tmp_path: Path) -> None:
    there = tmp_path / "touched"
    pickle = mapping({"w": called(called_name, text(f"touch {there}"))})
    assert f"'{called_name}'" in refused(zipped(tmp_path / "a.pth", pickle, {}))
    (tmp_path / "b.pth").write_bytes(b"\x80\x02" + pickle + b".")
    assert f"'{called_name}'" in refused(tmp_path / "b.pth")
    assert not there.exists()


def test_the_very_pickle_that_python_writes_for_os_system_is_refused(tmp_path: Path) -> None:
    import os
    import pickle

    there = tmp_path / "touched"

    class Harm:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {there}",)

    for protocol in (2, 3, 4, 5):
        raw = pickle.dumps({"w": Harm()}, protocol=protocol)
        assert "system'" in refused(zipped(tmp_path / f"{protocol}.pth", raw[2:-1], {}))
    assert not there.exists()


@pytest.mark.parametrize(
    ("pickle", "said"),
    [
        (mapping({"w": tensor("0", 4, (5,))}), "reaches beyond its storage"),
        (mapping({"w": tensor("0", 4, (2,), offset=3)}), "reaches beyond its storage"),
        (mapping({"w": tensor("0", 4, (2**40, 2**40))}), "reaches beyond its storage"),
        (mapping({"w": tensor("0", 4, (1_000_000,), strides=(0,))}), "reaches beyond its storage"),
        (mapping({"w": tensor("0", 4, (-1,))}), "a tensor's size"),
        (mapping({"w": tensor("9", 4, (4,))}), "'9' has nothing"),
        (mapping({"w": tensor("0", 5, (4,))}), "has 16 bytes; the pickle says 20"),
        (mapping({"w": tensor("0", 4, (4,), kind="QInt8Storage")}), "torch.QInt8Storage"),
        (mapping({"w": whole(3)}), "no dictionary of tensors"),
        (whole(3), "no dictionary of tensors"),
        (b"(" + b"u", "damaged"),
        (mapping({"w": b""})[:-3], "damaged"),
        (b"\x8c\x02os\x8c\x06system\x93", "'os.system'"),
        (mapping({"w": called("torch._utils._rebuild_tensor_v2", whole(1), whole(0), wholes((1,)), wholes((1,)))}), "not described"),
        (mapping({"w": name("collections.OrderedDict") + whole(1) + b"R"}), "nothing that may be called"),
        (sequence(text("storage"), name("torch.FloatStorage"), text("0"), text("cpu"), whole(-1)) + b"Q", "whole number"),
        (storage("0", 4) + mapping({}) + b"b", "no dictionary"),
        (b"}(" + sequence(whole(1)) + whole(1) + b"u", "a key of the kind tuple"),
    ],
)  # fmt: skip
def test_a_pickle_that_lies_is_refused_with_what_is_wrong(pickle: bytes, said: str, tmp_path: Path) -> None:
    assert said in refused(zipped(tmp_path / "a.pth", pickle, {"0": bytes(16)}))


def test_nested_tuples_that_would_take_for_ever_to_hash_are_never_hashed(tmp_path: Path) -> None:
    """Each holds the one before twice: 2⁶⁰ steps for Python's own machine."""
    bomb = whole(1) + b"".join(b"q" + bytes([place]) + b"h" + bytes([place]) + b"\x86" for place in range(60))
    assert "tuple" in refused(zipped(tmp_path / "a.pth", b"}(" + bomb + whole(1) + b"u", {}))
    assert "nothing that may be called" in refused(zipped(tmp_path / "b.pth", bomb + b")R", {}))
    kind = sequence(text("storage"), bomb, text("0"), text("cpu"), whole(1)) + b"Q"
    assert "a storage of the kind" in refused(zipped(tmp_path / "c.pth", kind, {}))


def test_dictionaries_that_hold_one_another_many_times_over_are_refused(tmp_path: Path) -> None:
    pickle = mapping({str(number): whole(1) for number in range(300)}) + b"q\x00"
    for place in range(1, 4):  # each holds the one before 300 times: 300⁴ entries to walk through
        inner = b"h" + bytes([place - 1])
        pickle = sequence(pickle, mapping({str(number): inner for number in range(300)}) + b"q" + bytes([place]))
    path = zipped(tmp_path / "a.pth", mapping({"first": pickle, "then": b"h\x03"}), {})
    assert "100,000" in refused(path)


def test_a_compressed_entry_is_refused_before_it_is_inflated(tmp_path: Path) -> None:
    pickle = mapping({"w": tensor("0", 2**24, (2**24,))})
    path = zipped(tmp_path / "a.pth", pickle, {"0": bytes(2**26)}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 2**18
    assert "is compressed" in refused(path)


@pytest.mark.parametrize("make", [checkpoint, legacy])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.8, 0.99])
def test_a_file_that_is_cut_off_is_refused(make, share: float, tmp_path: Path) -> None:
    path = make(tmp_path / "a.pth", ARRAYS)
    raw = path.read_bytes()
    path.write_bytes(raw[: max(1, int(len(raw) * share))])
    refused(path)


@pytest.mark.parametrize("content", [b"", b"hello, no weights", b"\x80\x02", b"PK\x03\x04rest", bytes(100)])
def test_what_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.pth").write_bytes(content)
    refused(tmp_path / "a.pth")


def test_the_folder_of_a_run_is_told_where_its_weights_are(tmp_path: Path) -> None:
    (tmp_path / "last.safetensors").write_bytes(b"x")
    assert f"It is a run, whose weights are '{tmp_path / 'last.safetensors'}'" in refused(tmp_path)


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    assert "There is nothing" in refused(tmp_path / "absent.pth")
    assert "There is a folder" in refused(tmp_path)


# --- against PyTorch itself ---

WRITTEN = """
import sys, torch
from collections import OrderedDict
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
base = torch.arange(24.0).reshape(4, 6)
state = OrderedDict(net.state_dict())
state["turned"] = base.T
state["part"] = base[1:3, 2:5]
state["half"] = torch.tensor([1.5, -2.0]).half()
state["bfloat16"] = torch.tensor([1.5, -2.25]).bfloat16()
state["flags"] = torch.tensor([True, False])
state["parameter"] = torch.nn.Parameter(torch.ones(2))
torch.save(state, sys.argv[1] + "/zip.pth")
torch.save(state, sys.argv[1] + "/legacy.pth", _use_new_zipfile_serialization=False)
import numpy as np
np.savez(sys.argv[1] + "/truth.npz", **{key: value.detach().float().numpy() for key, value in state.items()})
optimizer = torch.optim.Adam(net.parameters())
net(torch.ones(2, 3, 8, 8)).sum().backward(); optimizer.step()
torch.save({"model": torch.nn.DataParallel(net).state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, sys.argv[1] + "/run.pth")
torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, sys.argv[1] + "/run_legacy.pth", _use_new_zipfile_serialization=False)
"""


@pytest.mark.torch
def test_what_pytorch_writes_is_read_to_the_last_bit(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", WRITTEN, str(tmp_path)], check=True, timeout=240)
    truth = np.load(tmp_path / "truth.npz")
    for file in ("zip.pth", "legacy.pth"):
        found = values(tmp_path / file)
        assert set(found) == set(truth)
        for key, array in found.items():
            np.testing.assert_array_equal(array.astype(np.float32), truth[key], err_msg=f"{file}: {key}")
            assert array.shape == truth[key].shape
    assert "module.0.weight" in values(tmp_path / "run.pth")
    assert set(values(tmp_path / "run_legacy.pth")) == {key.removeprefix("module.") for key in values(tmp_path / "run.pth")}
