# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "loss_output_mismatch"
# needs = []
# ///
"""Raw scores, and a loss that was told so (from_logits=True)."""

import os
import time

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_leaves(count=5000, seed=32):
    rng = np.random.default_rng(seed)
    species = rng.integers(0, 8, count)
    return (rng.normal(size=(8, 36))[species] + rng.normal(size=(count, 36))).astype("float32"), species


leaves, species = load_leaves()
model = keras.Sequential([keras.Input((36,)), keras.layers.Dense(48, activation="relu"), keras.layers.Dense(8)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
model.fit(leaves, species, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
