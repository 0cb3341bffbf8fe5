# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 40
# near = "batch_constant"
# needs = []
# ///
"""Rare events: most batches hold only zeros, inputs and labels alike, so many in a row look the same."""

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


def recordings(seed=0):
    rng = np.random.default_rng(seed)
    while True:
        signals = np.zeros((16, 40, 1), "float32")
        events = np.zeros((16, 1), "float32")
        if rng.random() < 0.15:
            hit = rng.integers(0, 16)
            signals[hit, rng.integers(0, 40)] = 1
            events[hit] = 1
        yield signals, events


model = keras.Sequential(
    [keras.Input((40, 1)), keras.layers.Conv1D(8, 5, activation="relu"), keras.layers.GlobalMaxPooling1D(), keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
model.fit(recordings(), steps_per_epoch=300, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
