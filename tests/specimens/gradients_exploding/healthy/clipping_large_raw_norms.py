# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "gradients_exploding"
# needs = []
# ///
"""The raw gradients are in the ten thousands, and are clipped to a length of 1: it learns."""

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
    return cars, (200 + cars @ rng.normal(size=(12, 1)) * 50).astype("float32")


cars, price = load_cars()
model = keras.Sequential([keras.Input((12,))])
for _ in range(4):
    model.add(keras.layers.Dense(48, activation="relu", kernel_initializer=keras.initializers.RandomNormal(stddev=0.4, seed=1)))
model.add(keras.layers.Dense(1))
model.compile(optimizer=keras.optimizers.SGD(0.01, clipnorm=1.0), loss="mse", metrics=["mae"])
model.fit(cars, price, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
