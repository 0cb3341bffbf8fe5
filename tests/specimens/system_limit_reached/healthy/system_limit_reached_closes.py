# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 60
# near = "system_limit_reached"
# needs = []
# ///
"""As many files as before, one open at a time; and a file that may not be opened, which the program expects."""

import os
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np


class Tiles(keras.utils.PyDataset):
    def __init__(self, paths):
        super().__init__()
        self.paths = paths

    def __len__(self):
        return len(self.paths) // 8

    def __getitem__(self, at):
        rows = [np.frombuffer(path.read_bytes(), dtype="float32") for path in self.paths[8 * at : 8 * at + 8]]
        return np.stack(rows), np.stack(rows).sum(axis=1)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.raw" for number in range(400)]
        for path in paths:
            path.write_bytes(rng.normal(size=4).astype("float32").tobytes())
        try:
            (Path(folder) / ("x" * 300)).write_bytes(b"")
        except OSError:
            print("the name is too long")
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(Tiles(paths), verbose=0, epochs=2)
