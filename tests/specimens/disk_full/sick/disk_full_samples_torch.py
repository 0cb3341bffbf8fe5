# /// specimen
# cause = "disk_full"
# also = []
# where = "FULL HERE"
# framework = "keras-torch"
# ends = "crashes"
# seconds = 25
# near = "disk_nearly_full"
# needs = ["root"]
# ///
"""A callback writes the predictions of each epoch as .npy files to a scratch volume that runs full."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402
from small_disk import mount_small_disk  # noqa: E402


class KeepPredictions(keras.callbacks.Callback):
    def __init__(self, folder: Path, inputs: np.ndarray) -> None:
        super().__init__()
        self.folder = folder
        self.inputs = inputs

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        predictions = self.model.predict(self.inputs, batch_size=512, verbose=0)
        np.save(self.folder / f"epoch_{epoch}.npy", predictions)  # FULL HERE


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    folder = mount_small_disk(12_000_000)
    random = np.random.default_rng(0)
    inputs = random.normal(size=(6_000, 64)).astype("float32")
    model = keras.Sequential([keras.layers.Dense(128, "relu"), keras.layers.Dense(64)])
    model.compile("adam", "mse")
    mark()
    model.fit(inputs, inputs, batch_size=128, epochs=30, verbose=2, callbacks=[KeepPredictions(folder, inputs)])


if __name__ == "__main__":
    main()
