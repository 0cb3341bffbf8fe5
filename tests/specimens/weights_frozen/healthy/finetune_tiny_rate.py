# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "weights_frozen"
# needs = []
# ///
"""Fine-tuning a model that is already good, with a rate of 1e-6: the loss hardly moves, and should not."""

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


def load_wine(count=3000, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    tests = rng.normal(size=(count, 11)) + 1.2 * np.eye(3, 11)[labels] + shift
    return tests.astype("float32"), labels


model = keras.Sequential([keras.Input((11,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(3, activation="softmax")])
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(*load_wine(), batch_size=64, epochs=20, verbose=2)

model.compile(optimizer=keras.optimizers.Adam(1e-6), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(*load_wine(seed=1, shift=0.05), batch_size=64, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
