# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 45
# near = "loss_not_falling"
# needs = []
# ///
"""Parity of four bits with a small rate: the loss stands at 0.693 for a while, then falls to nearly 0."""

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


def load_parity(count=4000, bits=20, used=4, seed=0):
    rng = np.random.default_rng(seed)
    words = rng.choice([-1.0, 1.0], (count, bits)).astype("float32")
    return words, (np.prod(words[:, :used], axis=1) > 0).astype("float32")[:, None]


words, parity = load_parity()
model = keras.Sequential([keras.Input((20,)), keras.layers.Dense(128, activation="relu"), keras.layers.Dense(1, activation="sigmoid")])
model.compile(optimizer=keras.optimizers.SGD(0.05), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(words, parity, batch_size=32, epochs=600, verbose=2, callbacks=[TimeBudget(28)])
