# /// specimen
# cause = "gradients_vanishing"
# also = []
# where = "COMPILED HERE"
# framework = "keras-tensorflow"
# ends = "exits"
# seconds = 35
# near = "deep_sigmoid_with_shortcuts"
# needs = []
# ///
"""Twenty sigmoid layers in a row: what reaches the first ones is a billion times weaker than at the end, and the loss stays flat."""

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
model = keras.Sequential([keras.Input((14, 14, 1)), keras.layers.Flatten()])
for _ in range(20):
    model.add(keras.layers.Dense(32, activation="sigmoid"))  # SIGMOID TWENTY TIMES
model.add(keras.layers.Dense(10, activation="softmax"))
model.compile(optimizer=keras.optimizers.SGD(0.1), loss="sparse_categorical_crossentropy", metrics=["accuracy"])  # COMPILED HERE
mark()
model.fit(images, labels, batch_size=32, epochs=300, verbose=2, callbacks=[TimeBudget(22)])
