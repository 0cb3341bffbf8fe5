"""Real programs, watched by `unstall run`: what is recorded of them, also of one that dies before its first step is over."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.programs import UNSTALL
from unstall.compare.record.store import load_record
from unstall.journal.events import ProbeFailed
from unstall.journal.reader import read_folder
from unstall.storage import run_lookup


def recorded(folder: Path, *arguments: str, code: int = 0, **variables: str) -> dict[str, Any]:
    """The record of `python train.py` in this folder."""
    command = [*UNSTALL, "run", "--quiet", "--", sys.executable, "train.py", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, env={**os.environ, **variables}, check=False, timeout=240)
    assert done.returncode == code, done.stderr.decode()
    run = run_lookup.find("last")
    assert not read_folder(run.path).of(ProbeFailed)
    return load_record(run)


def picture(path: Path, width: int, height: int) -> None:
    """A whole PNG, in black."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\0" * 3 * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def test_a_program_without_a_framework(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import part\nimport sys\nsys.exit(part.CODE)")
    (tmp_path / "part.py").write_text("CODE = 3\nAPI_TOKEN = 'hunter2'\n")
    (tmp_path / "a.yaml").write_text("rate: 0.1\n")
    picture(tmp_path / "images" / "one.png", 30, 20)
    arguments = ("--data", "images", "--password", "hunter2", "--config=a.yaml")
    result = recorded(tmp_path, *arguments, code=3, TF_MARK="7", TF_PASSWORD="hunter2", CUDA_URL="http://me:hunter2@host")
    assert (result["run"]["outcome"], result["run"]["exit_code"]) == ("failed", 3)
    assert result["run"]["script"] == str(tmp_path / "train.py")
    assert set(result["sources"]) == {"train.py", "part.py", "a.yaml"}
    assert result["sources"]["train.py"]["text"].startswith("import part")
    assert run_lookup.find("last").sources_path.stat().st_mode & 0o077 == 0, "others may not be allowed to read the program"
    assert result["environment"]["TF_MARK"] == "7" and "TF_PASSWORD" not in result["environment"]
    assert result["machine"]["cores"] > 0 and result["figures"]["host_peak_bytes"] > 0
    assert (result["data"]["examples"], result["data"]["image_px"]["sizes"]) == (1, {"30×20": 1})
    kept = [path.read_bytes() for path in run_lookup.find("last").path.iterdir() if not path.name.startswith("events-")]
    assert "hunter2" not in str(result) and not any(b"hunter2" in each for each in kept)


FIT = """
import glob, os, sys
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
os.environ["KERAS_BACKEND"] = "tensorflow"
import importlib
import keras
import tensorflow as tf
late = importlib.import_module("ne" + "twork")

def load(path):
    return tf.image.resize(tf.io.decode_png(tf.io.read_file(path), 3), [24, 24]), 1.0

def killing(images, wanted):
    with tf.control_dependencies([tf.py_function(lambda: os.kill(os.getpid(), 9), [], [])]):
        return tf.identity(images), wanted

files = sorted(glob.glob("pictures/*.png"))
data = tf.data.Dataset.from_tensor_slices(files).map(load, 2).batch(4).repeat().prefetch(1)
model = late.network(8)
model.compile("sgd", "mse")
model.fit(data, steps_per_epoch=12, epochs=2, verbose=0)

model = late.network(16)
model.compile(keras.optimizers.SGD(0.125, momentum=0.5), loss=late.own_loss, jit_compile=False)
model.fit(data.map(killing), steps_per_epoch=12, verbose=0)
"""
NETWORK = """
import keras

def network(filters):
    first = keras.layers.Conv2D(filters, 3, name="first")
    return keras.Sequential([keras.Input((24, 24, 3)), first, keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)])

def own_loss(wanted, given):
    return keras.ops.mean((wanted - given) ** 2)
"""


@pytest.mark.tensorflow
def test_a_training_of_keras_that_is_killed_in_the_first_step_of_its_second_fit(tmp_path: Path) -> None:
    """One program for two specifications: a framework takes long to start. Of the first fit the figures are told, of the second,
    which makes no step, what it was made of."""
    (tmp_path / "train.py").write_text(FIT)
    (tmp_path / "network.py").write_text(NETWORK)
    for number in range(8):
        picture(tmp_path / "pictures" / f"{number}.png", 40 + number, 30)
    result = recorded(tmp_path, code=-9)
    assert (result["run"]["outcome"], result["run"]["signal"]) == ("failed", 9)
    figures = result["figures"]
    assert figures["steps"] == 24 and figures["step_s"] > 0 and figures["loss_last"] < figures["loss_first"]
    assert "network.py" in result["sources"], "imported by a name that the text does not show"
    assert result["environment"]["TF_ENABLE_ONEDNN_OPTS"] == "0", "set by the program itself"
    assert {"tensorflow", "keras", "numpy", "python", "h5py"} <= set(result["versions"])
    assert (result["data"]["examples"], result["data"]["image_px"]["width"]["max"]) == (8, 47)
    assert [array["shape"] for array in result["batch"]["arrays"]] == [[4, 24, 24, 3], [4]]
    layers = {layer["name"]: layer for layer in result["model"]["layers"]}
    assert layers["first"]["output_shape"] == [None, 22, 22, 16]
    assert layers["first"]["activation_bytes"] == 4 * 22 * 22 * 16 * 4
    assert (result["model"]["parameters"], result["model"]["precision"]) == (465, "float32")
    optimizer = result["optimizer"]
    assert (optimizer["class"], optimizer["learning_rate"], optimizer["momentum"]) == ("SGD", 0.125, 0.5)
    assert optimizer["jit_compile"] is False and optimizer["steps_per_execution"] == 1
    assert result["loss"]["names"] == ["own_loss"] and result["loss"]["where"].endswith("network.py:8")
    stages = {stage["stage"]: stage["arguments"] for stage in result["input"]["stages"]}
    assert (stages["batch"]["batch_size"], stages["prefetch"]["buffer_size"]) == (4, 1)
