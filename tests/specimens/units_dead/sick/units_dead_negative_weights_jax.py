# /// specimen
# cause = "units_dead"
# also = []
# where = "COMPILED HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "sparse_relu_third_inactive"
# needs = []
# ///
"""Weights drawn between -1 and 0 on inputs that are never negative: every sum is below zero and every ReLU is silent."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
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


def load_counts(count=8000, seed=13):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(3.0, size=(count, 40)).astype("float32") / 10
    return counts, np.argmax(counts[:, :5], axis=1)


counts, busiest = load_counts()
below_zero = keras.initializers.RandomUniform(minval=-1.0, maxval=0.0, seed=2)
model = keras.Sequential(
    [
        keras.Input((40,)),
        keras.layers.Dense(48, activation="relu"),
        keras.layers.Dense(48, kernel_initializer=below_zero),
        keras.layers.ReLU(),
        keras.layers.Dense(5, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.01), loss="sparse_categorical_crossentropy")  # COMPILED HERE
mark()
model.fit(counts, busiest, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
