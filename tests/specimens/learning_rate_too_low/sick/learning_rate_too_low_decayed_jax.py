# /// specimen
# cause = "learning_rate_too_low"
# also = []
# where = "RATE HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "cosine_to_zero"
# needs = []
# ///
"""The decay was meant per epoch but is done per step: after some hundred steps the learning rate is practically zero."""

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


def load_wine(count=5000, seed=6):
    rng = np.random.default_rng(seed)
    wines = rng.normal(size=(count, 12)).astype("float32")
    taste = np.tanh(wines @ rng.normal(size=(12, 3)).astype("float32")).sum(axis=1, keepdims=True)
    return wines, taste.astype("float32")


wines, taste = load_wine()
model = keras.Sequential(
    [
        keras.Input((12,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1),
    ]
)
rate = keras.optimizers.schedules.ExponentialDecay(1e-4, decay_steps=1, decay_rate=0.9)
model.compile(optimizer=keras.optimizers.SGD(rate), loss="mse")  # RATE HERE
mark()
model.fit(wines, taste, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
