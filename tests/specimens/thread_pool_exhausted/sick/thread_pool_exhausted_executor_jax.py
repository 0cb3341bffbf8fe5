# /// specimen
# cause = "thread_pool_exhausted"
# also = []
# where = "WAITS FOR A THREAD HERE"
# framework = "keras-jax"
# ends = "hangs"
# seconds = 35
# near = "executor_busy_but_moving"
# needs = []
# ///
"""The generator loads its samples with a pool of four threads. Large samples are cut into tiles, and the tiles go to the
same pool: as soon as four large samples are loaded at once, all four threads wait for tiles that no thread is left to cut."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark

pool = ThreadPoolExecutor(max_workers=4)


def cut_tile(image: np.ndarray, row: int) -> np.ndarray:
    return image[row * 4 : row * 4 + 4].mean(axis=0)


def load_sample(index: int) -> np.ndarray:
    image = np.random.default_rng(index).normal(size=(8, 12)).astype("float32")
    if index < 4000:
        return image.mean(axis=0)
    tiles = [pool.submit(cut_tile, image, row) for row in range(2)]
    return np.mean([tile.result() for tile in tiles], axis=0)  # WAITS FOR A THREAD HERE


def batches():
    for start in range(0, 10**9, 16):
        if start == 4000:
            mark()
        features = np.stack(list(pool.map(load_sample, range(start, start + 16))))
        yield features, features.sum(axis=1, keepdims=True)


model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(batches(), steps_per_epoch=100, epochs=50, verbose=2)
