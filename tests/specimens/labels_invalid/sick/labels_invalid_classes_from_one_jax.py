# /// specimen
# cause = "labels_invalid"
# also = []
# where = "FIT WITH BAD LABELS"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "masks_ignore_255"
# needs = []
# ///
"""The classes are numbered 1 to 5 but the net has outputs 0 to 4: JAX lets class 5 pass without a word, and it is never learnt."""

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


def load_flowers(count=6000, seed=22):
    rng = np.random.default_rng(seed)
    kind = rng.integers(1, 6, count)
    petals = rng.normal(size=(count, 8)).astype("float32")
    petals[np.arange(count), kind] += 2.5
    return petals, kind


petals, kind = load_flowers()
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(5)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])
mark()
model.fit(petals, kind, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])  # FIT WITH BAD LABELS
