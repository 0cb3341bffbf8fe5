# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "lock_deadlock"
# needs = []
# ///
"""The generator and two threads share two locks, always taken in the same order, and hold them for up to two seconds.
The generator often waits for a lock, and gets it."""

import os
import threading
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class CachedLoader:
    def __init__(self) -> None:
        self.cache_lock = threading.Lock()
        self.index_lock = threading.RLock()
        self.index = np.arange(64)
        self.cache = np.random.default_rng(0).normal(size=(64, 16, 9)).astype("float32")
        self.served = 0

    def refresh(self, seconds: float, pause: float) -> None:
        while True:
            with self.cache_lock, self.index_lock:
                time.sleep(seconds)  # reads the new index from disk
                self.roll()
            time.sleep(pause)

    def roll(self) -> None:
        with self.index_lock:  # re-entrant: taken again by its owner
            self.index = np.roll(self.index, 1)

    def batch(self) -> np.ndarray:
        with self.cache_lock:
            time.sleep(0.002)
            with self.index_lock:
                self.served += 1
                return self.cache[self.index[self.served % 64]]


def batches(loader: CachedLoader):
    while True:
        table = loader.batch()
        yield table[:, :8], table[:, 8:]


loader = CachedLoader()
threading.Thread(target=loader.refresh, args=(2.0, 5.0), name="refresher", daemon=True).start()
threading.Thread(target=loader.refresh, args=(0.01, 0.05), name="small-refresher", daemon=True).start()
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
slow = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: time.sleep(0.025))  # a larger model
model.fit(batches(loader), steps_per_epoch=100, epochs=5, verbose=2, callbacks=[slow])
