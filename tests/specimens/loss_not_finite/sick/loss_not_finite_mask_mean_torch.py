# /// specimen
# cause = "loss_not_finite"
# also = []
# where = "DIVIDED BY ZERO"
# framework = "keras-torch"
# ends = "exits"
# seconds = 40
# near = "sample_weight_zeros"
# needs = []
# ///
"""The loss is averaged over the labelled pixels; a batch without any labelled pixel divides zero by zero."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"
os.environ["OMP_NUM_THREADS"] = "1"
import keras
import numpy as np
from keras import ops

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa

UNLABELLED = -1.0


def masked_error(target, predicted):
    labelled = ops.cast(target != UNLABELLED, "float32")
    error = ops.square(target - predicted) * labelled
    return ops.sum(error) / ops.sum(labelled)  # DIVIDED BY ZERO


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_train_batch_end(self, batch, logs=None):
        if not np.isfinite(float(logs["loss"])):
            mark()
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_depth_maps(count=16000, seed=8):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, 24)).astype("float32")
    depth = np.abs(features @ rng.normal(size=(24, 6)).astype("float32") * 0.2)
    depth[rng.random(depth.shape) < 0.6] = UNLABELLED
    depth[4800:4820] = UNLABELLED  # the sensor was off for a while
    return features, depth


features, depth = load_depth_maps()
model = keras.Sequential([keras.Input((24,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(6)])
model.compile(optimizer="adam", loss=masked_error)
model.fit(features, depth, batch_size=20, epochs=100, shuffle=False, verbose=2, callbacks=[TimeBudget(20)])
