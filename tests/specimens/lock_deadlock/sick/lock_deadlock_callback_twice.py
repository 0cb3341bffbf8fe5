# /// specimen
# cause = "lock_deadlock"
# also = []
# where = "TAKES IT AGAIN HERE"
# framework = "keras-torch"
# ends = "hangs"
# seconds = 30
# near = "locks_under_contention"
# needs = []
# ///
"""A callback keeps its best weights under a plain Lock. At the first rollback it calls, with the lock held, a method that
takes the same lock again; a plain Lock is not re-entrant."""

import os
import sys
import threading
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark


class BestWeights(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()
        self.best: list | None = None
        self.history: list[float] = []

    def restore(self) -> None:
        with self.lock:  # TAKES IT AGAIN HERE
            self.model.set_weights(self.best)

    def on_epoch_end(self, epoch: int, logs=None) -> None:
        with self.lock:
            self.history.append(logs["loss"])
            if self.best is None or logs["loss"] <= min(self.history):
                self.best = self.model.get_weights()
            if epoch == 4:
                mark()
                self.restore()


rng = np.random.default_rng(2)
features = rng.normal(size=(2048, 8)).astype("float32")
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(features, features.sum(axis=1, keepdims=True), batch_size=16, epochs=50, verbose=2, callbacks=[BestWeights()])
