# /// specimen
# cause = "python_in_pipeline"
# also = ["input_starved"]
# where = "PYTHON HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 40
# near = "pydataset_fast"
# needs = []
# ///
"""A PyDataset with four worker threads draws its pictures pixel by pixel in Python: the threads share one GIL."""

import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from onset import mark  # noqa: E402

SIDE = 24


def draw_disc(centre_x: float, centre_y: float, radius: float) -> list[list[float]]:
    rows = []
    for y in range(SIDE):
        row = []
        for x in range(SIDE):  # PYTHON HERE
            distance = ((x - centre_x) ** 2 + (y - centre_y) ** 2) ** 0.5  # PYTHON HERE
            row.append(max(0.0, min(1.0, radius - distance)))  # PYTHON HERE
        rows.append(row)
    return rows


class Discs(keras.utils.PyDataset):
    def __init__(self, batches: int, batch: int) -> None:
        super().__init__(workers=4, use_multiprocessing=False, max_queue_size=8)
        self.batches = batches
        self.batch = batch

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, index: int):
        random = np.random.default_rng(index)
        radii = random.uniform(3, 10, size=self.batch)
        pictures = [draw_disc(SIDE / 2 + random.normal(), SIDE / 2, float(radius)) for radius in radii]
        return np.array(pictures, dtype="float32")[..., None], radii.astype("float32")[:, None] / 10


def main() -> None:
    model = keras.Sequential(
        [keras.Input((SIDE, SIDE, 1)), keras.layers.Flatten(), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    mark()
    model.fit(Discs(batches=80, batch=256), epochs=3)


if __name__ == "__main__":
    main()
