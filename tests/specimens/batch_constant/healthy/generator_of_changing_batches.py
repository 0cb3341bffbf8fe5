# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "batch_constant"
# needs = []
# ///
"""A generator that writes into one buffer and yields it each time: the same array object, with new contents."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

BATCH = 32


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def batches(seed=0):
    rng = np.random.default_rng(seed)
    readings = np.empty((BATCH, 20), "float32")
    faults = np.empty((BATCH, 1), "float32")
    while True:
        readings[:] = rng.normal(size=readings.shape)
        faults[:] = readings[:, 3:4] - readings[:, 7:8] > 0.5
        yield readings, faults


model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.Adam(1e-4), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(batches(), steps_per_epoch=200, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
