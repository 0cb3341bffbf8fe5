# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 40
# near = "learning_rate_too_low"
# needs = []
# ///
"""The parity of five signs: the loss lies flat at the level of guessing for thousands of steps, then falls to zero."""

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


def make_parity(count=8000, seed=41):
    rng = np.random.default_rng(seed)
    signs = np.sign(rng.normal(size=(count, 12))).astype("float32")
    return signs, (signs[:, :5].prod(axis=1) > 0).astype("float32")[:, None]


signs, even = make_parity()
model = keras.Sequential(
    [keras.Input((12,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
model.compile(optimizer=keras.optimizers.SGD(0.04), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(signs, even, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(25)])
