# /// specimen
# cause = "lock_deadlock"
# also = ["generator_blocked"]
# where = "WAITS FOR THE OTHER LOCK"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "locks_under_contention"
# needs = []
# ///
"""The generator takes the cache lock and then the index lock; the thread that refreshes the cache takes them in the
other order. Sooner or later each holds one and waits for the other."""

import os
import sys
import threading
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


class CachedLoader:
    def __init__(self) -> None:
        self.cache_lock = threading.Lock()
        self.index_lock = threading.Lock()
        self.index = np.arange(64)
        self.cache = np.random.default_rng(0).normal(size=(64, 16, 9)).astype("float32")
        self.served = 0

    def refresh(self) -> None:
        while self.served < 400:
            time.sleep(0.05)
        while True:
            with self.index_lock:
                time.sleep(0.01)  # reads the new index from disk
                mark()
                with self.cache_lock:
                    self.index = np.roll(self.index, 1)
            time.sleep(0.5)

    def batch(self) -> np.ndarray:
        with self.cache_lock:
            time.sleep(0.002)  # copies the batch
            with self.index_lock:  # WAITS FOR THE OTHER LOCK
                self.served += 1
                return self.cache[self.index[self.served % 64]]


def batches(loader: CachedLoader):
    while True:
        table = loader.batch()
        yield table[:, :8], table[:, 8:]


loader = CachedLoader()
threading.Thread(target=loader.refresh, name="refresher", daemon=True).start()
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(batches(loader), steps_per_epoch=200, epochs=50, verbose=2)
