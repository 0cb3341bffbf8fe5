# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "learning_rate_too_high"
# needs = []
# ///
"""One example per step: the loss jumps by a factor of a thousand from step to step, and falls on the whole."""

import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_tides(count=3000, seed=9):
    rng = np.random.default_rng(seed)
    moon = rng.normal(size=(count, 8)).astype("float32")
    return moon, (moon @ rng.normal(size=(8, 1)) + rng.standard_t(3, size=(count, 1))).astype("float32")


moon, height = load_tides()
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.005), loss="mse")
model.fit(moon, height, batch_size=1, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
