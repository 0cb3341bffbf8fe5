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
"""An autoencoder with mean squared error on pixels: the loss starts small, falls to a floor early and stays there."""

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


def load_digits(count=8000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(0.5, 1.0, (count, 1, 1)) + rng.normal(0, 0.2, (count, 14, 14))
    return np.clip(images, 0, 1).astype("float32")[..., None], labels


images, _ = load_digits()
pixels = images.reshape(len(images), -1)
model = keras.Sequential(
    [
        keras.Input((196,)),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(196, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="mse")
model.fit(pixels, pixels, batch_size=64, epochs=1000, verbose=2, callbacks=[TimeBudget(20)])
