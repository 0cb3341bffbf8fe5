# /// specimen
# cause = "loss_output_mismatch"
# also = []
# where = "COMPILED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "autoencoder_mse_pixels"
# needs = []
# ///
"""Mean squared error between ten outputs and one class number: the number is silently compared with all ten."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "tensorflow"
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


def load_digits(count=8000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(0.5, 1.0, (count, 1, 1)) + rng.normal(0, 0.2, (count, 14, 14))
    return np.clip(images, 0, 1).astype("float32")[..., None], labels


images, labels = load_digits()
model = keras.Sequential(
    [
        keras.Input((14, 14, 1)),
        keras.layers.Conv2D(8, 3, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="mse", metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(images, labels.astype("float32")[:, None], batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])
