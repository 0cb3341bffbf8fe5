# /// specimen
# cause = "learning_rate_too_high"
# also = ["units_dead"]
# where = "RATE HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "parity_plateau_then_falls"
# needs = []
# ///
"""Adam with a learning rate of 1.0: every weight moves by about one at each step, and the loss stays at thousands."""

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


def load_sensors(count=6000, seed=2):
    rng = np.random.default_rng(seed)
    signals = rng.normal(size=(count, 40)).astype("float32")
    state = np.argmax(signals @ rng.normal(size=(40, 6)), axis=1)
    return signals, state


signals, state = load_sensors()
model = keras.Sequential([keras.Input((40,))])
for width in (64, 64, 32):
    model.add(keras.layers.Dense(width, activation="relu"))
model.add(keras.layers.Dense(6, activation="softmax"))
model.compile(optimizer=keras.optimizers.Adam(learning_rate=1.0), loss="sparse_categorical_crossentropy")  # RATE HERE
mark()
model.fit(signals, state, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
