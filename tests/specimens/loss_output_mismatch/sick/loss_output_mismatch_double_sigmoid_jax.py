# /// specimen
# cause = "loss_output_mismatch"
# also = []
# where = "COMPILED HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "one_unit_sigmoid"
# needs = []
# ///
"""The model ends in a sigmoid and the loss applies another one (from_logits=True): no prediction can be surer than 73 %."""

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


def load_scans(count=8000, seed=33):
    rng = np.random.default_rng(seed)
    scans = rng.normal(size=(count, 48)).astype("float32")
    return scans, (scans[:, :4].sum(axis=1) > 0).astype("float32")[:, None]


scans, tumour = load_scans()
model = keras.Sequential(
    [keras.Input((48,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
loss = keras.losses.BinaryCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(scans, tumour, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
