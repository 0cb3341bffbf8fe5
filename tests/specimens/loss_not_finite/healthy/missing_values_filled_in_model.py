# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "loss_not_finite"
# needs = []
# ///
"""Empty cells are NaN in the table; the model's first layer replaces them by 0 and says so in a second column."""

import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import ops

class FillMissing(keras.layers.Layer):
    def call(self, table):
        missing = ops.isnan(table)
        return ops.concatenate([ops.where(missing, 0.0, table), ops.cast(missing, "float32")], axis=1)


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def read_table(count=8000, seed=5):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(count, 30)).astype("float32")
    price = table @ rng.normal(size=(30, 1)).astype("float32")
    table[rng.random(table.shape) < 0.05] = np.nan
    return table, price


table, price = read_table()
model = keras.Sequential(
    [keras.Input((30,)), FillMissing(), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1)]
)
model.compile(optimizer="adam", loss="mse")
model.fit(table, price, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
