# /// specimen
# cause = "loss_output_mismatch"
# also = []
# where = "COMPILED HERE"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "logits_with_from_logits"
# needs = []
# ///
"""The last layer gives raw scores, but the loss was not told (from_logits is missing): it takes them for probabilities."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
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


def load_leaves(count=5000, seed=32):
    rng = np.random.default_rng(seed)
    species = rng.integers(0, 8, count)
    shapes = rng.normal(size=(8, 36))
    return (shapes[species] + rng.normal(size=(count, 36))).astype("float32"), species


leaves, species = load_leaves()
inputs = keras.Input((36,))
hidden = keras.layers.Dense(48, activation="relu")(inputs)
scores = keras.layers.Dense(8, name="scores")(hidden)
model = keras.Model(inputs, scores)
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(leaves, species, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
