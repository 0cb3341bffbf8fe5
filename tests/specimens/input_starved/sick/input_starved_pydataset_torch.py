# /// specimen
# cause = "input_starved"
# also = ["python_in_pipeline"]
# where = "STARVED HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "pydataset_fast"
# needs = []
# ///
"""A PyDataset with one worker unpacks compressed volumes for every batch; the model waits for it."""

import os
import sys
import zlib
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

SHAPE = (96, 96, 96)


def compress_volumes(count: int) -> list[bytes]:
    generator = np.random.default_rng(1)
    volumes = []
    for _ in range(count):
        volume = generator.integers(0, 12, size=SHAPE, dtype=np.uint8)
        volumes.append(zlib.compress(volume.tobytes(), 1))
    return volumes


class Volumes(keras.utils.PyDataset):
    def __init__(self, packed: list[bytes], batch: int, **kwargs) -> None:
        super().__init__(**kwargs)
        self.packed = packed
        self.batch = batch

    def __len__(self) -> int:
        return 60

    def __getitem__(self, index: int):
        inputs, targets = [], []
        for number in range(self.batch):
            packed = self.packed[(index * self.batch + number) % len(self.packed)]
            volume = np.frombuffer(zlib.decompress(packed), dtype=np.uint8).reshape(SHAPE)  # STARVED HERE
            inputs.append(volume[::8, ::8, ::8].astype("float32").ravel() / 12)
            targets.append([inputs[-1].mean()])
        return np.stack(inputs), np.array(targets, dtype="float32")


def main() -> None:
    torch.set_num_threads(1)  # the machine is shared
    model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    train = Volumes(compress_volumes(32), batch=24)
    mark()
    model.fit(train, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
