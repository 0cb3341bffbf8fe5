# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "learning_rate_too_low"
# needs = []
# ///
"""The learning rate starts at 0 and is warmed up over 12,000 steps: for long the loss hardly moves, then it falls."""

import os
import time

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_leaves(count=6400, seed=40):
    rng = np.random.default_rng(seed)
    species = rng.integers(0, 8, count)
    return (rng.normal(size=(8, 36))[species] + rng.normal(size=(count, 36)) * 2).astype("float32"), species


leaves, species = load_leaves()
model = keras.Sequential([keras.Input((36,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(8)])
rate = keras.optimizers.schedules.CosineDecay(0.0, 200_000, warmup_target=1e-4, warmup_steps=12_000)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer=keras.optimizers.Adam(rate), loss=loss, metrics=["accuracy"])
model.fit(leaves, species, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
