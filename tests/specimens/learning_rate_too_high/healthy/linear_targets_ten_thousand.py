# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "learning_rate_too_high"
# needs = []
# ///
"""A regression on prices of ten thousands: the loss starts at 1e9 and the gradients at 1e5, and it learns."""

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


def load_cars(count=8000, seed=16):
    rng = np.random.default_rng(seed)
    cars = rng.normal(size=(count, 12)).astype("float32")
    return cars, (20000 + cars @ rng.normal(size=(12, 1)) * 5000).astype("float32")


cars, price = load_cars()
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse", metrics=["mae"])
model.fit(cars, price, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
