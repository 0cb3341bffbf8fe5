# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "learning_rate_too_low"
# needs = []
# ///
"""Training goes on from weights which are already right: the loss is near zero at the first step and stays there."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_scale(count=6000, seed=7):
    rng = np.random.default_rng(seed)
    loads = rng.normal(size=(count, 10)).astype("float32")
    return loads, (loads @ np.linspace(0.1, 1.0, 10)[:, None] + rng.normal(0, 0.001, (count, 1))).astype("float32")


loads, weight = load_scale()
model = keras.Sequential([keras.Input((10,)), keras.layers.Dense(1)])
model.layers[0].set_weights([np.linspace(0.1, 1.0, 10).astype("float32")[:, None], np.zeros(1, "float32")])
model.compile(optimizer=keras.optimizers.SGD(1e-4), loss="mse", metrics=["mae"])
model.fit(loads, weight, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
