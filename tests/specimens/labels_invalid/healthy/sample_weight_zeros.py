# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "labels_invalid"
# needs = []
# ///
"""Unlabelled rows have target -1 and weight 0, so they do not count; whole batches may have loss 0."""

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


def load_depths(count=5000, seed=43):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 24)).astype("float32")
    depth = np.abs(features @ rng.normal(size=(24, 1)) * 0.2).astype("float32")
    known = rng.random(count) < 0.4
    known[1000:1200] = False
    depth[~known] = -1.0
    return features, depth, known.astype("float32")


features, depth, known = load_depths()
model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(48, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss="mse")
model.fit(features, depth, sample_weight=known, batch_size=20, epochs=300, shuffle=False, verbose=2, callbacks=[TimeBudget(20)])
