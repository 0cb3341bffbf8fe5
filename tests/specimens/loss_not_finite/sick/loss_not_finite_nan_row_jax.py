# /// specimen
# cause = "loss_not_finite"
# also = []
# where = "FIT WITH A MISSING VALUE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 30
# near = "missing_values_filled_in_model"
# needs = []
# ///
"""One cell of the table is empty and reads as NaN: the batch that holds that row ruins every weight."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

BATCH = 32


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(logs["loss"]):
            mark()

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def read_table(count=40000, seed=5):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(count, 30)).astype("float32")
    price = table @ rng.normal(size=(30, 1)).astype("float32")
    table[700 * BATCH + 5, 11] = np.nan  # an empty cell in the file
    return table, price


table, price = read_table()
model = keras.Sequential(
    [
        keras.Input((30,)),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(table, price, batch_size=BATCH, epochs=200, shuffle=False, verbose=2, callbacks=[TimeBudget(20)])  # FIT WITH A MISSING VALUE
