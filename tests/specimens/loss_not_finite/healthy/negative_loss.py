# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "loss_not_finite"
# needs = []
# ///
"""A negative cosine similarity plus a log-likelihood: the loss is below zero from early on, and that is right."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np
from keras import ops

def negative_log_likelihood(target, predicted):
    mean, log_width = predicted[:, :1], predicted[:, 1:]
    return ops.mean(log_width + 0.5 * ops.square((target - mean) / ops.exp(log_width)))


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_clock(count=4000, seed=8):
    rng = np.random.default_rng(seed)
    temperature = rng.normal(size=(count, 6)).astype("float32")
    drift = 0.02 * temperature @ rng.normal(size=(6, 1)) + rng.normal(0, 0.002, (count, 1))
    return temperature, drift.astype("float32")


temperature, drift = load_clock()
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(32, activation="tanh"), keras.layers.Dense(2)])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=negative_log_likelihood)
model.fit(temperature, drift, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
