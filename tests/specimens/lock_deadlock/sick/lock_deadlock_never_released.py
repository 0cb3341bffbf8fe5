# /// specimen
# cause = "lock_deadlock"
# also = ["generator_blocked"]
# where = "WAITS FOR A LOCK THAT NOBODY GIVES BACK"
# framework = "keras-tensorflow"
# ends = "hangs"
# seconds = 30
# near = "locks_under_contention"
# needs = []
# ///
"""A thread refreshes the class weights under a lock that it takes by hand. It dies of a division by zero before it gives the
lock back; the workers of the PyDataset wait for the lock from then on."""

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


class ClassWeights:
    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.counts = [40, 30, 20, 10]
        self.values = np.ones(4, "float32")

    def refresh(self) -> None:
        while True:
            time.sleep(0.5)
            self.guard.acquire()
            self.counts[3] -= 1
            if not self.counts[3]:
                mark()
            self.values = np.array([sum(self.counts) / count for count in self.counts], "float32")
            self.guard.release()

    def of(self, classes: np.ndarray) -> np.ndarray:
        with self.guard:  # WAITS FOR A LOCK THAT NOBODY GIVES BACK
            return self.values[classes]


class Samples(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int):
        time.sleep(0.005)
        rng = np.random.default_rng(index)
        classes = rng.integers(0, 4, size=16)
        return rng.normal(size=(16, 8)).astype("float32"), classes, weights.of(classes)


weights = ClassWeights()
threading.Thread(target=weights.refresh, name="weights", daemon=True).start()
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(4, activation="softmax")])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(Samples(workers=2, use_multiprocessing=False), epochs=50, verbose=2)
