# /// specimen
# cause = "disk_full"
# also = []
# where = "FULL HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 25
# near = "disk_nearly_full"
# needs = ["root"]
# ///
"""A checkpoint of each epoch is kept on a volume of 24 MB; the sixth or so no longer fits and the training dies."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402
from small_disk import mount_small_disk  # noqa: E402


class Announce(keras.callbacks.Callback):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        disk = os.statvfs(self.folder)
        if disk.f_bavail * disk.f_frsize < 4_300_000:
            mark()


def main() -> None:
    folder = mount_small_disk(24_000_000)
    random = np.random.default_rng(0)
    inputs = random.normal(size=(19_200, 512)).astype("float32")
    targets = inputs[:, :1] * 0.5
    model = keras.Sequential([keras.layers.Dense(700, "relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    save = keras.callbacks.ModelCheckpoint(str(folder / "epoch_{epoch:03d}.keras"))
    model.fit(inputs, targets, epochs=20, verbose=2, callbacks=[Announce(folder), save])  # FULL HERE


if __name__ == "__main__":
    main()
