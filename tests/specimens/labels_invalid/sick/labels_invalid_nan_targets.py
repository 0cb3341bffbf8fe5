# /// specimen
# cause = "labels_invalid"
# also = ["loss_not_finite"]
# where = "FIT WITH BAD LABELS"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "sample_weight_zeros"
# needs = []
# ///
"""Some targets are missing in the table and read as NaN: the first batch that holds one makes the loss NaN for good."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(float(logs["loss"])):
            mark()

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_bikes(count=20000, seed=21):
    rng = np.random.default_rng(seed)
    hours = rng.normal(size=(count, 12)).astype("float32")
    rented = (hours @ rng.normal(size=(12, 1)) + 1).astype("float32")
    rented[15000::500] = np.nan  # not counted yet
    return hours, rented


hours, rented = load_bikes()
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
model.fit(hours, rented, batch_size=32, epochs=300, shuffle=False, verbose=2, callbacks=[TimeBudget(20)])  # FIT WITH BAD LABELS
