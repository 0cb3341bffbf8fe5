"""layer_sizes: the sides that strides make of the size of a model's input, from the symbolic tensors of a failing function."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import keras
from keras import layers
from unstall.probe.errors import layer_sizes

def pyramid(side):
    x = inputs = keras.Input((side, side, 3), name="photo")
    skips = []
    for _ in range(3):
        skips.append(x)
        x = layers.Conv2D(4, 3, strides=2, padding="same")(x)
    skip = skips[-1]
    x = layers.UpSampling2D(2)(x)
    layers.Add()([x, layers.Conv2D(4, 1)(skip)])

try:
    pyramid(90)
except ValueError as error:
    frames, traceback = [], error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    print(layer_sizes.find_sizes(frames))
"""


def test_of_the_way_on_which_the_sides_are_divided_most(tmp_path: Path) -> None:
    pytest.importorskip("keras")
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert done.stdout.strip(), done.stderr
    (row,) = eval(done.stdout)
    assert row["sides"] == [[90, 90], [45, 45], [23, 23], [12, 12]]
    assert (row["what"], row["stride"], row["name"]) == ("sizes", 8, "photo")
