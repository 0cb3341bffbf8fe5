# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 30
# near = "disk_full"
# needs = ["root", "tmpfs"]
# ///
"""Checkpoints go to a volume that is 95 % full. Each replaces the one before, so there is always room."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from small_disk import mount_small_disk  # noqa: E402


def fill(folder: Path, bytes_left: int) -> None:
    disk = os.statvfs(folder)
    (folder / "old_experiment.bin").write_bytes(bytes(disk.f_bavail * disk.f_frsize - bytes_left))


def main() -> None:
    folder = mount_small_disk(40_000_000)
    fill(folder, 2_000_000)
    random = np.random.default_rng(0)
    inputs = random.normal(size=(25_600, 64)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(800, "relu"), keras.layers.Dense(64)])
    model.compile(keras.optimizers.SGD(0.01), "mse")
    save = keras.callbacks.ModelCheckpoint(str(folder / "last.weights.h5"), save_weights_only=True)
    model.fit(inputs, inputs, epochs=10, verbose=2, callbacks=[save])


if __name__ == "__main__":
    main()
