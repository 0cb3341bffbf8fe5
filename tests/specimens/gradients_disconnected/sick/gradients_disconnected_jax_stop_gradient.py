# /// specimen
# cause = "gradients_disconnected"
# also = []
# where = "STOPPED HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 40
# near = "auxiliary_head_unused"
# needs = []
# ///
"""The encoder of a matching model is wrapped in stop_gradient for both inputs: it has a random start and stays there.

The loss depends on it, nothing warns, and on JAX its gradients are plain zeros.
"""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


class Matcher(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(32)], name="encoder")
        self.score = keras.layers.Dense(1, activation="sigmoid", name="score")

    def encode(self, inputs):
        return keras.ops.stop_gradient(self.encoder(inputs))  # STOPPED HERE

    def call(self, pair):
        left, right = pair
        return self.score(keras.ops.abs(self.encode(left) - self.encode(right)))


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def make_pairs(count=4000, seed=5):
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(count, 40)).astype("float32")
    same = rng.integers(0, 2, count)
    right = rng.normal(size=left.shape)
    # Two things are the same when their first five features agree; the other 35 are noise.
    right[same == 1, :5] = left[same == 1, :5]
    return (left, right.astype("float32")), same.astype("float32")


pairs, same = make_pairs()
model = Matcher()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
mark()
model.fit(pairs, same, batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(20)])
