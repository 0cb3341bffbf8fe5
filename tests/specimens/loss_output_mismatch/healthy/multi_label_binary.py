# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "loss_output_mismatch"
# needs = []
# ///
"""Several labels may be true at once: six sigmoid units with binary cross-entropy, labels as columns of 0 and 1."""

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


def load_songs(count=6000, seed=38):
    rng = np.random.default_rng(seed)
    songs = rng.normal(size=(count, 30)).astype("float32")
    return songs, (songs @ rng.normal(size=(30, 6)) > 1).astype("float32")


songs, moods = load_songs()
model = keras.Sequential(
    [keras.Input((30,)), keras.layers.Dense(48, activation="relu"), keras.layers.Dense(6, activation="sigmoid")]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["binary_accuracy"])
model.fit(songs, moods, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
