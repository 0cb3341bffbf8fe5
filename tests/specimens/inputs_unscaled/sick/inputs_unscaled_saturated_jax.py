# /// specimen
# cause = "inputs_unscaled"
# also = []
# where = "RAW PIXELS"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "raw_pixels_adam_learns"
# needs = []
# ///
"""Pixels from 0 to 255 into a convolution and a softmax: the scores are in the hundreds, the softmax is exactly 0 or 1, and nothing moves it."""

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


def load_digits(count=6000, seed=0):
    rng = np.random.default_rng(seed)
    shapes = rng.random((10, 14, 14)) > 0.6
    labels = rng.integers(0, 10, count)
    images = shapes[labels] * rng.uniform(120, 255, (count, 1, 1)) + rng.normal(0, 40, (count, 14, 14))
    return np.clip(images, 0, 255).astype("float32")[..., None], labels


images, labels = load_digits()
model = keras.Sequential(
    [
        keras.Input((14, 14, 1)),
        keras.layers.Conv2D(16, 3, activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
mark()
model.fit(images, labels, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(20)])  # RAW PIXELS
