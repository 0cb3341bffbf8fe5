# /// specimen
# cause = "system_limit_reached"
# also = []
# where = "OPENED HERE"
# framework = "keras-tensorflow"
# ends = "crashes"
# seconds = 60
# near = "system_limit_reached_closes"
# needs = []
# ///
"""A data set keeps every one of its files open, and the process may have 256 of them."""

import os
import resource
import sys
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402


class Tiles(keras.utils.PyDataset):
    def __init__(self, paths):
        super().__init__()
        self.files = [open(path, "rb") for path in paths]  # OPENED HERE

    def __len__(self):
        return len(self.files) // 8

    def __getitem__(self, at):
        rows = [np.frombuffer(file.read(16), dtype="float32") for file in self.files[8 * at : 8 * at + 8]]
        return np.stack(rows), np.zeros((8, 1))


if __name__ == "__main__":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.raw" for number in range(400)]
        for path in paths:
            path.write_bytes(bytes(16))
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        mark()
        model.fit(Tiles(paths), verbose=0)
