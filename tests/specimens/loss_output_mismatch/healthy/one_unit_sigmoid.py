# /// specimen
# cause = ""
# also = []
# where = ""
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "loss_output_mismatch"
# needs = []
# ///
"""One sigmoid unit with binary cross-entropy; the sigmoid stands in a layer of its own."""

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


def load_scans(count=8000, seed=33):
    rng = np.random.default_rng(seed)
    scans = rng.normal(size=(count, 48)).astype("float32")
    return scans, (scans[:, :4].sum(axis=1) > 0).astype("int32")[:, None]


scans, tumour = load_scans()
inputs = keras.Input((48,))
score = keras.layers.Dense(1)(keras.layers.Dense(32, activation="relu")(inputs))
model = keras.Model(inputs, keras.layers.Activation("sigmoid")(score))
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(scans, tumour, batch_size=32, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
