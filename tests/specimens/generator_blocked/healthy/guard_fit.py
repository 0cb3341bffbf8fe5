# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "generator_blocked"
# needs = []
# shape = "guard"
# ///
"""A healthy training under unstall.Guard(), with validation, from a slow but steady generator."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

import unstall


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def batches(seed):
    rng = np.random.default_rng(seed)
    while True:
        rows = rng.normal(size=(16, 8)).astype("float32")
        yield rows, (rows[:, :1] > rows[:, 1:2]).astype("float32")


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(
    batches(0),
    steps_per_epoch=300,
    validation_data=batches(1),
    validation_steps=50,
    epochs=200,
    verbose=2,
    callbacks=[unstall.Guard(), TimeBudget(20)],
)
