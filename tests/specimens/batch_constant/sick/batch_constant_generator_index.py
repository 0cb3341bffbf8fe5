# /// specimen
# cause = "batch_constant"
# also = []
# where = "ALWAYS THE SAME"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "generator_of_changing_batches"
# needs = []
# ///
"""The generator resets its position inside the endless loop, so every batch holds the first 32 examples."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

BATCH = 32


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_sensor_data(seed=12):
    rng = np.random.default_rng(seed)
    readings = rng.normal(size=(6400, 20)).astype("float32")
    faults = (readings[:, 3] - readings[:, 7] > 0.5).astype("float32")[:, None]
    return readings, faults


def batches(readings, faults):
    while True:
        position = 0
        yield readings[position : position + BATCH], faults[position : position + BATCH]  # ALWAYS THE SAME
        position = (position + BATCH) % len(readings)


readings, faults = load_sensor_data()
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.Adam(1e-4), loss="binary_crossentropy", metrics=["accuracy"])
mark()
model.fit(
    batches(readings, faults),
    steps_per_epoch=len(readings) // BATCH,
    epochs=500,
    verbose=2,
    callbacks=[TimeBudget(22)],
)
