# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "thread_pool_exhausted"
# needs = []
# ///
"""The generator loads with a pool of four threads, and each of them waits for tiles from a second pool; the first pool is
often full of waiting threads, but the second one works."""

import os
import time
from concurrent.futures import ThreadPoolExecutor

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

samples = ThreadPoolExecutor(max_workers=4)
tiles = ThreadPoolExecutor(max_workers=2)


def cut_tile(image: np.ndarray, row: int, seconds: float) -> np.ndarray:
    if seconds:
        time.sleep(seconds)
    return image[row * 4 : row * 4 + 4].mean(axis=0)


def load_sample(index: int) -> np.ndarray:
    image = np.random.default_rng(index).normal(size=(8, 12)).astype("float32")
    seconds = 1.0 if index % 1600 < 4 else 0.0
    return np.mean([tile.result() for tile in [tiles.submit(cut_tile, image, row, seconds) for row in range(2)]], axis=0)


def batches():
    for start in range(0, 10**9, 16):
        features = np.stack(list(samples.map(load_sample, range(start, start + 16))))
        yield features, features.sum(axis=1, keepdims=True)


model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.05))  # a larger model
model.fit(batches(), steps_per_epoch=50, epochs=6, verbose=2, callbacks=[slow])
