# /// specimen
# cause = "loss_not_falling"
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "plateau_then_falls"
# needs = []
# ///
"""Inputs and labels are shuffled by two different permutations, so the labels belong to other examples."""

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

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_activity(count=20000, seed=16):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 6, count)
    centres = rng.normal(size=(6, 12))
    readings = (centres[labels] + 0.5 * rng.normal(size=(count, 12))).astype("float32")
    return readings, labels


def shuffle_examples(readings, labels, seed=0):
    rng = np.random.default_rng(seed)
    rng.shuffle(readings)
    rng.shuffle(labels)  # not the same order as the readings
    return readings, labels


readings, labels = shuffle_examples(*load_activity())
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(6, activation="softmax")])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
mark()
model.fit(readings, labels, batch_size=32, epochs=200, verbose=2, callbacks=[TimeBudget(28)])
