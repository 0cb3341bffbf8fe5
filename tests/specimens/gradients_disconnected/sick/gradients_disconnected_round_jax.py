# /// specimen
# cause = "gradients_disconnected"
# also = []
# where = "ROUNDED HERE"
# framework = "keras-jax"
# ends = "exits"
# seconds = 35
# near = "custom_loss_with_rounding_metric"
# needs = []
# ///
"""A custom loss rounds the predictions to whole stars. On JAX nothing complains: all gradients are zero for ever."""

import os
import sys
import time
from pathlib import Path

os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import ops

sys.path.insert(0, str(Path(__file__).parents[2]))  # noqa
from onset import mark  # noqa


def star_loss(y_true, y_pred):
    stars = ops.round(y_pred)  # ROUNDED HERE
    return ops.mean(ops.abs(stars - y_true))


class TimeBudget(keras.callbacks.Callback):
    def __init__(self, seconds):
        super().__init__()
        self.end = time.monotonic() + seconds

    def on_epoch_end(self, epoch, logs=None):
        if time.monotonic() > self.end:
            self.model.stop_training = True


def load_reviews(count=3000, seed=21):
    rng = np.random.default_rng(seed)
    reviews = rng.normal(size=(count, 30)).astype("float32")
    stars = np.clip(np.round(3 + reviews[:, :1] + 0.5 * reviews[:, 1:2]), 1, 5)
    return reviews, stars.astype("float32")


reviews, stars = load_reviews()
model = keras.Sequential([keras.Input((30,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)])
model.compile(optimizer="adam", loss=star_loss)
mark()
model.fit(reviews, stars, batch_size=32, epochs=500, verbose=2, callbacks=[TimeBudget(18)])
